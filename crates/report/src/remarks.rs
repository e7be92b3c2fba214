//! Remarks beside a trial's figures in every format.

use truetps_record::{AnswersReady, Trial};

use crate::format;

/// Answers that lay ready for this share of the mean response time are named.
const READY_MIN: f64 = 0.20;

/// Notes, and answers that waited in the generator.
pub(crate) fn remarks(trial: &Trial) -> Vec<String> {
    trial.notes.iter().cloned().chain(answers_ready(trial)).collect()
}

/// Clients of a script that share a thread wait for each other's turns. The mean is halfway between
/// what is certain and what is possible.
fn answers_ready(trial: &Trial) -> Option<String> {
    let AnswersReady { us_least, us_most } = trial.script.as_ref()?.answers_ready?;
    let response_us = trial.measured.as_ref()?.response.response_us_mean.filter(|us| *us > 0.0)?;
    let share = us_least.midpoint(us_most) / response_us;
    (share >= READY_MIN).then(|| {
        format!(
            "answers lay ready for {} to {} of the mean response time of {} because other clients \
             of the thread had their turns, as threads of sysbench wait for a core \
             (--lua-isolation=client gives each client a thread)",
            format::duration_us(us_least),
            format::duration_us(us_most),
            format::duration_us(response_us),
        )
    })
}

#[cfg(test)]
mod tests {
    use truetps_record::{LatencyFigures, Measured, ScriptRun};

    use super::*;

    #[test]
    fn answers_that_waited_for_their_clients_turn_are_named() {
        let said = |us_least, us_most| {
            let response =
                LatencyFigures { response_us_mean: Some(12_000.0), ..LatencyFigures::default() };
            let answers_ready = Some(AnswersReady { us_least, us_most });
            let trial = Trial {
                measured: Some(Measured { response, ..Measured::default() }),
                script: Some(ScriptRun { answers_ready, ..ScriptRun::default() }),
                ..crate::fixture::Fixture::durability().input().trials().next().unwrap().clone()
            };
            remarks(&trial)
        };
        assert_eq!(said(100.0, 4_000.0), Vec::<String>::new());
        let [text] = &said(1_500.0, 4_500.0)[..] else { panic!("one remark") };
        assert!(
            text.starts_with(
                "answers lay ready for 1.50 ms to 4.50 ms of the mean response time of 12.0 ms"
            ),
            "{text}"
        );
    }
}
