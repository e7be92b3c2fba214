//! `--pin`: which cores generator and private server run on.

use truetps_lab::Pin;
use truetps_probe::own_cores;

use crate::failure::CommandFailure;

/// `auto`, or a list of cores for the generator such as `3` or `0-1,4`. The private server gets the
/// others.
pub(crate) fn parse(text: &str) -> Result<Pin, CommandFailure> {
    split(text, &own_cores())
        .map_err(|problem| CommandFailure::usage(format!("--pin {text}: {problem}")))
}

fn split(text: &str, allowed: &[u32]) -> Result<Pin, String> {
    let generator = if text == "auto" {
        // The last half: interrupts tend to come to the first cores.
        allowed[allowed.len() - allowed.len() / 2..].to_vec()
    } else {
        cores(text)?
    };
    if let Some(core) = generator.iter().find(|core| !allowed.contains(core)) {
        return Err(format!("this process may not use core {core}; it may use {allowed:?}"));
    }
    let server: Vec<_> = allowed.iter().copied().filter(|core| !generator.contains(core)).collect();
    if generator.is_empty() || server.is_empty() {
        return Err(format!(
            "of {} cores, both generator and server need at least one",
            allowed.len()
        ));
    }
    Ok(Pin { generator, server })
}

fn cores(text: &str) -> Result<Vec<u32>, String> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (core(first)?, core(last)?),
            None => (core(part)?, core(part)?),
        };
        if first > last || last - first > 4096 {
            return Err(format!("`{part}` is not a range of cores"));
        }
        list.extend(first..=last);
    }
    list.sort_unstable();
    match list.array_windows().find(|[core, next]| core == next) {
        Some([core, _]) => Err(format!("core {core} is named twice")),
        None => Ok(list),
    }
}

fn core(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|core: &u32| core.to_string() == word);
    number.ok_or_else(|| format!("`{word}` is not the number of a core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_and_server_have_cores_of_their_own() {
        let check = |text: &str, allowed: &[u32], generator: &[u32], server: &[u32]| {
            let expect = Pin { generator: generator.to_vec(), server: server.to_vec() };
            assert_eq!(split(text, allowed), Ok(expect), "{text} of {allowed:?}");
        };
        check("auto", &[0, 1], &[1], &[0]);
        check("auto", &[0, 1, 2, 5, 6], &[5, 6], &[0, 1, 2]);
        check("0", &[0, 1], &[0], &[1]);
        check("0-1,3", &[0, 1, 2, 3], &[0, 1, 3], &[2]);
        for (wrong, allowed) in [
            ("", &[0, 1][..]),
            ("2", &[0, 1]),
            ("0-1", &[0, 1]),
            ("1-0", &[0, 1]),
            ("x", &[0, 1]),
            ("auto", &[0]),
            ("0,0", &[0, 1]),
            ("0-1,1", &[0, 1, 2]),
            ("+0", &[0, 1]),
            ("00", &[0, 1]),
            (" 0", &[0, 1]),
            ("0 ", &[0, 1]),
            ("0,", &[0, 1]),
            ("0--1", &[0, 1, 2]),
        ] {
            assert!(split(wrong, allowed).is_err(), "{wrong} of {allowed:?}");
        }
    }
}
