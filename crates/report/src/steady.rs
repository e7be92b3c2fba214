//! A remark about configurations whose trials were not in a steady state.

use truetps_analysis::{Analysis, Cell, Unsteady};

use crate::format;
use crate::format::and_more;

/// Configurations named; the others are counted.
const SHOWN_MAX: usize = 3;

/// Which configurations, how far they are off, and advice. `None` where all were steady, or where
/// it is not known.
pub(crate) fn warning(analysis: &Analysis) -> Option<String> {
    let mut unsteady: Vec<_> =
        analysis.cells.iter().filter_map(|cell| Some((cell, cell.unsteady.as_ref()?))).collect();
    unsteady.sort_by(|(_, one), (_, other)| {
        (other.farthest - 1.0).abs().total_cmp(&(one.farthest - 1.0).abs())
    });
    let shown: Vec<_> =
        unsteady.iter().take(SHOWN_MAX).map(|(cell, unsteady)| text(cell, unsteady)).collect();
    let more = and_more(unsteady.len() - shown.len());
    (!shown.is_empty()).then(|| {
        format!(
            "Not in a steady state, so that response times do not describe it: {}{more} (tps × \
             mean response time ÷ connections, 1 in a steady state). Measure for longer.",
            shown.join("; ")
        )
    })
}

/// `connections=1000: 0.72 (2 of 4 trials)`.
fn text(cell: &Cell, unsteady: &Unsteady) -> String {
    let configuration = cell.configuration.to_string();
    let at = if configuration.is_empty() { String::new() } else { format!("{configuration}: ") };
    let trials = if unsteady.of == 1 {
        String::new()
    } else {
        format!(" ({} of {} trials)", unsteady.trials, unsteady.of)
    };
    format!("{at}{}{trials}", format::ratio(unsteady.farthest).trim_start_matches('×'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReportAnswer;
    use crate::fixture::Fixture;

    #[test]
    fn a_trial_that_is_off_is_named_once_with_its_figure() {
        assert_eq!(warning(Fixture::durability().input().analysis), None);
        let fixture = Fixture::durability().with(|trials| {
            for trial in trials.iter_mut().filter(|trial| trial.configuration.connections() == 50) {
                let is_off = trial.block < 2;
                trial.measured.as_mut().unwrap().littles_law =
                    Some(if is_off { 0.72 } else { 1.01 });
            }
        });
        let said = warning(fixture.input().analysis).unwrap();
        for part in [
            "Not in a steady state, so that response times do not describe it: \
             innodb_flush_log_at_trx_commit=",
            "connections=50: 0.720 (2 of 3 trials)",
            "Measure for longer.",
        ] {
            assert!(said.contains(part), "{said}\nshould contain\n{part}");
        }
        let text = fixture.input().text(crate::TextScreen::PLAIN);
        assert_eq!(text.matches("Not in a steady state").count(), 1, "{text}");
        let json: serde_json::Value = serde_json::from_str(&fixture.input().json()).unwrap();
        let cells = json["analysis"]["cells"].as_array().unwrap();
        assert!(cells.iter().any(|cell| cell["unsteady"]["farthest"] == 0.72), "{cells:?}");
        let trials = json["trials"].as_array().unwrap();
        assert!(
            trials
                .iter()
                .any(|trial| trial["unsteady"] == true && trial["validity"]["state"] == "valid")
        );
    }
}
