//! The part of a load that a process makes, as typed or as a scheduler says.

use crate::Part;

/// Variables of schedulers that number equal processes from 0: the number, and how many there are.
const SCHEDULERS: [(&str, Option<&str>); 3] = [
    ("SLURM_PROCID", Some("SLURM_NTASKS")),
    ("OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    // Of Kubernetes: an Indexed Job does not tell how many.
    ("JOB_COMPLETION_INDEX", None),
];

const AUTO: &str = "auto";

impl Part {
    /// Reads `I/N`, `auto` or `auto/N`. `variable`: the environment, where schedulers number their
    /// processes.
    pub fn choose(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let of = match text.split_once('/') {
            None if text == AUTO => None,
            Some((AUTO, of)) => Some(of.to_owned()),
            _ => return text.parse(),
        };
        let found =
            SCHEDULERS.iter().find_map(|(index, size)| Some((*index, variable(index)?, *size)));
        let Some((name, index, size)) = found else {
            let names: Vec<_> = SCHEDULERS.iter().map(|(index, _)| *index).collect();
            return Err(format!("none of {} is set: write --part I/N", names.join(", ")));
        };
        let of_scheduler = size.and_then(|size| Some((size, variable(size)?)));
        let of = match (of, of_scheduler) {
            (Some(of), Some((size, other))) if of != other => {
                return Err(format!("{of} parts are asked for, and {size} is {other}"));
            }
            (Some(of), _) | (None, Some((_, of))) => of,
            (None, None) => {
                return Err(format!(
                    "{name} is {index}, of how many is not known: write --part auto/N"
                ));
            }
        };
        format!("{index}/{of}").parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, variables: &[(&str, &str)], expect: Result<(u32, u32), &str>) {
        let variable = |name: &str| {
            variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
        };
        let expect = expect.map(|(index, of)| Part { index, of }).map_err(str::to_owned);
        assert_eq!(Part::choose(text, variable), expect, "{text} {variables:?}");
    }

    #[test]
    fn parts_come_from_the_scheduler_if_asked_for() {
        let slurm = [("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")];
        check("auto", &slurm, Ok((2, 4)));
        check("auto/4", &slurm, Ok((2, 4)));
        check("auto/5", &slurm, Err("5 parts are asked for, and SLURM_NTASKS is 4"));
        check("0/1", &slurm, Ok((0, 1)));
        check("auto", &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "3")], Ok((0, 3)));
        let indexed = [("JOB_COMPLETION_INDEX", "7")];
        check("auto/8", &indexed, Ok((7, 8)));
        check("auto/7", &indexed, Err("7/7: the parts are numbered from 0 to 6"));
        check(
            "auto",
            &indexed,
            Err("JOB_COMPLETION_INDEX is 7, of how many is not known: write --part auto/N"),
        );
        let none = "none of SLURM_PROCID, OMPI_COMM_WORLD_RANK, JOB_COMPLETION_INDEX is set: write \
                    --part I/N";
        check("auto", &[], Err(none));
    }
}
