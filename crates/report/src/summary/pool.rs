//! How many connections a pool needs, on one screen.

use truetps_archive::PoolRun;

use super::layout::{ScreenPart, Screenful};
use crate::pool::{
    PoolLibrary, answer, configurations, curve_table, parameters_table, rate_text, rule_text, title, trials_fact, trust,
};
use crate::{TextScreen, format, names};

/// `libraries`: those whose configuration is wanted.
pub fn pool_summary(run: &PoolRun, libraries: &[PoolLibrary], screen: TextScreen) -> String {
    let mut parts: Vec<_> = ScreenPart::table(curve_table(run)).into_iter().collect();
    parts.extend(rate_text(run).map(|text| ScreenPart::fact("Rate", text)));
    parts.extend(rule_text(run).map(|text| ScreenPart::fact("Rule", text)));
    parts.extend(ScreenPart::table(parameters_table(run)));
    let wanted = configurations(run).into_iter().filter(|(library, _)| libraries.contains(library));
    let lines: Vec<_> =
        wanted.flat_map(|(library, lines)| [vec![format!("{}:", library.name())], lines].concat()).collect();
    parts.extend((!lines.is_empty()).then(|| ScreenPart::code(lines)));
    let trust = trust(run);
    parts.extend((!trust.is_empty()).then(|| ScreenPart::facts("Trust", trust)));
    parts.push(ScreenPart::fact("Trials", trials_fact(run)));
    Screenful { title: title(run), place: place(run), answer: answer(run), parts }.draw(screen)
}

fn place(run: &PoolRun) -> String {
    let experiment = &run.experiment;
    let servers: Vec<_> = names::servers(experiment).iter().map(names::server).collect();
    let kind = if experiment.external.is_some() { "" } else { ", private" };
    let host = &experiment.host;
    let disks: Vec<_> = experiment.disks.iter().map(|disk| format!("disk {}", disk.profile)).collect();
    let flush = host.flush.filter(|_| disks.is_empty());
    let flush = flush.map(|flush| format!("one flush {}", format::duration_us(flush.us_p50)));
    let settings = run.plan.server.settings.iter().map(|(name, value)| format!("{name}={}", value.option_text()));
    let parts = [format!("{}{kind}", format::list(&servers)), format::plural(host.cores.into(), "core")];
    parts.into_iter().chain(disks).chain(flush).chain(settings).collect::<Vec<_>>().join(", ")
}
