//! What is told of an experiment on a server that truetps did not start.

use crate::ReportInput;

/// What the user was warned of before the load.
pub(crate) fn lines(input: &ReportInput<'_>) -> Vec<String> {
    let warnings = input.experiment.guest.iter().flat_map(|guest| &guest.warnings);
    warnings.map(|warning| format!("before the load: {warning}")).collect()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::{html, json, text};

    #[test]
    fn warnings_before_the_load_are_in_every_report() {
        let fixture = Fixture::guest();
        let input = fixture.input();
        let said = "log_bin = ON: made up";
        for report in [text(&input, false), json(&input), html(&input, &[])] {
            assert!(report.contains(said), "{report}");
        }
    }
}
