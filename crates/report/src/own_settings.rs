//! Settings that truetps chose for private servers, because nothing that the user gave sets them.

use truetps_knowledge::people_value;
use truetps_plan::Plan;
use truetps_record::Experiment;

use crate::{format, names};

/// Settings that a reader misses first, and what they are called.
const NAMED: [(&str, &str); 6] = [
    ("innodb_buffer_pool_size", "buffer pool"),
    ("innodb_redo_log_capacity", "log"),
    ("innodb_log_file_size", "log"),
    ("shared_buffers", "shared buffers"),
    ("max_wal_size", "WAL of at most"),
    ("performance_schema", "performance schema"),
];

/// `buffer pool 1 GiB, log 512 MiB` of some settings, and how many of them are not in it. `None`:
/// none of them is.
pub(crate) fn in_short(settings: &[(&str, &str)]) -> Option<(String, usize)> {
    let files = value_of(settings, "innodb_log_files_in_group").filter(|n| *n != "1");
    let texts: Vec<_> = NAMED
        .iter()
        .filter_map(|(name, word)| {
            let value = people_value(name, value_of(settings, name)?);
            let files = files.filter(|_| *name == "innodb_log_file_size");
            let files = files.map_or(String::new(), |n| format!("{n} × "));
            Some(format!("{word} {files}{value}"))
        })
        .collect();
    let others = settings.len().saturating_sub(texts.len());
    (!texts.is_empty()).then(|| (texts.join(", "), others))
}

fn value_of<'a>(settings: &[(&str, &'a str)], wanted: &str) -> Option<&'a str> {
    settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
}

/// The settings that truetps chose. Several servers may have different ones; a common one is there
/// once.
fn own_settings<'a>(plan: &Plan, experiment: &'a Experiment) -> Vec<(&'a str, &'a str)> {
    let mut own: Vec<_> = Vec::new();
    for server in names::servers(experiment) {
        let chosen = names::chosen_settings(plan, server)
            .filter(|(name, _)| !server.of_option_file.contains(name));
        for (name, value) in chosen.map(|(name, value)| (name.as_str(), value.as_str())) {
            if !own.contains(&(name, value)) {
                own.push((name, value));
            }
        }
    }
    own
}

/// Whether an option file of the user gave the servers their settings: a reader takes what truetps
/// chose for a part of it.
fn has_option_file(experiment: &Experiment) -> bool {
    names::servers(experiment).iter().any(|server| !server.of_option_file.is_empty())
}

/// For the short answer of a server with an option file.
pub(crate) fn short_text(plan: &Plan, experiment: &Experiment) -> Option<String> {
    let own = own_settings(plan, experiment);
    let (text, others) = in_short(&own).filter(|_| has_option_file(experiment))?;
    let more = if others == 0 {
        String::new()
    } else {
        format!(", {} more", format::count(others as u64))
    };
    Some(format!("chosen by truetps, because the option file does not set them: {text}{more}"))
}

/// All settings that truetps chose, under the names of the server.
pub(crate) fn full_text(plan: &Plan, experiment: &Experiment) -> Option<String> {
    let own = own_settings(plan, experiment);
    let texts = format::joined(own.into_iter().map(|(name, value)| shown(name, value)), ", ")?;
    let what = if has_option_file(experiment) {
        "neither the plan nor the option file sets"
    } else {
        "the plan does not set"
    };
    Some(format!("{texts} (chosen by truetps: {what} them)"))
}

/// An option without a value, as `skip-name-resolve`, is set by being there.
pub(crate) fn shown(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::{FolderAnswer, ReportAnswer};

    #[test]
    fn what_truetps_chose_beside_an_option_file_is_named_as_such() {
        let mut fixture = Fixture::durability();
        let chosen = |names: &[(&str, &str)]| {
            names
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<Vec<_>>()
        };
        let texts = |fixture: &Fixture| {
            let input = fixture.input();
            let short = crate::summary::summary_text(&input, crate::TextScreen::PLAIN)
                .replace("\n          ", " ");
            (short, input.text(crate::TextScreen::PLAIN).replace("\n          ", " "), input.html())
        };
        let (short, full, _) = texts(&fixture);
        assert!(!short.contains("chosen by truetps"), "the user gave no file: {short}");
        assert!(
            full.contains(
                "Settings  innodb_buffer_pool_size=512M (chosen by truetps: the plan \
                           does not set them)"
            ),
            "{full}"
        );
        let servers = fixture.run.experiment.server.iter_mut();
        for server in servers {
            server.chosen_settings = chosen(&[
                ("innodb_buffer_pool_size", "1G"),
                ("server_id", "1"),
                ("tmp_table_size", "32M"),
            ]);
            server.of_option_file = vec!["tmp_table_size".to_owned()];
        }
        let (short, full, html) = texts(&fixture);
        let line = "Settings  chosen by truetps, because the option file does not set them: buffer \
                    pool 1 GiB, 1 more";
        assert!(short.contains(line), "{short}");
        let whole = "Settings  innodb_buffer_pool_size=1G, server_id=1 (chosen by truetps: neither \
            the plan nor the option file sets them)";
        assert!(full.contains(whole), "{full}");
        let server = full.lines().find(|line| line.starts_with("Server")).unwrap();
        assert!(server.contains("tmp_table_size=32M") && !server.contains("server_id"), "{server}");
        for (name, who) in [("tmp_table_size", "the option file"), ("server_id", "truetps")] {
            let row = html
                .split("<tr>")
                .find(|row| row.contains(name))
                .unwrap_or_else(|| panic!("{name}: {html}"));
            assert!(row.contains(&format!(">{who}<")), "{row}");
        }
    }
}
