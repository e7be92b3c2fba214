//! Translates a plan into the engine's pacing.

use std::time::Duration;

use truetps_engine::{OpenPacing, Pacing, Rate, RateOf};
use truetps_plan::Plan;
use truetps_record::Configuration;

/// When transactions start in a trial of this configuration.
pub(crate) fn pacing(plan: &Plan, configuration: &Configuration) -> Pacing {
    let load = &plan.load;
    let (from, of) = match (configuration.rate().or(load.rate), load.rate_per_client) {
        (Some(rate), _) => (rate, RateOf::All),
        (None, Some(rate)) => (rate, RateOf::EachClient),
        (None, None) => return Pacing::Closed,
    };
    let rate = Rate {
        from,
        to: load.ramp_to.unwrap_or(from),
        ramp_start_s: load.warm_up_s,
        ramp_end_s: load.warm_up_s + load.measure_s,
    };
    let latency_limit = load.latency_limit_ms.map(|ms| Duration::from_secs_f64(ms / 1e3));
    Pacing::Open(OpenPacing {
        rate,
        of,
        spacing: load.arrivals,
        latency_limit,
        seed: plan.design.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacing_of(load: &str, factors: &str) -> Pacing {
        let text = format!(
            "name = \"p\"\nabout = \"a\"\n[workload]\nname = \
             \"insert\"\n[load]\n{load}\n[factors]\nconnections = [8]\n\
             {factors}"
        );
        let plan = Plan::parse(&text).unwrap();
        pacing(&plan, &plan.configurations()[0])
    }

    fn rate_of(pacing: &Pacing) -> (RateOf, f64, f64) {
        let Pacing::Open(open) = pacing else { panic!("a closed loop") };
        (open.of, open.rate.from, open.rate.to)
    }

    #[test]
    fn a_rate_opens_the_loop() {
        assert_eq!(pacing_of("", ""), Pacing::Closed);
        assert_eq!(rate_of(&pacing_of("rate = 100", "")), (RateOf::All, 100.0, 100.0));
        assert_eq!(
            rate_of(&pacing_of("rate_per_client = 2\nramp_to = 5.5", "")),
            (RateOf::EachClient, 2.0, 5.5)
        );
        assert_eq!(
            rate_of(&pacing_of("ramp_to = 50", "rate = [10, 20]")),
            (RateOf::All, 10.0, 50.0)
        );
    }
}
