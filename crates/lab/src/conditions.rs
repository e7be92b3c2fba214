//! Whether an experiment that goes on has the conditions of its earlier trials: the host and the
//! servers.

use truetps_record::{Experiment, HostFacts, ServerFacts, same_setting};

use crate::error::LabError;
use crate::event::Listener;
use crate::experiment::PreparedExperiment;

/// Trials of two machines, or of two servers, say nothing about each other.
pub(crate) fn same_place(
    prepared: &PreparedExperiment<'_>,
    experiment: &Experiment,
    listener: &mut dyn Listener,
) -> Result<(), LabError> {
    same_servers(&prepared.servers, experiment)?;
    same_host(&prepared.host, &experiment.host, true, listener)
}

/// New blocks on another host are another experiment; missing trials of old ones are better than
/// none.
pub(crate) fn same_host(
    is: &HostFacts,
    was: &HostFacts,
    is_extended: bool,
    listener: &mut dyn Listener,
) -> Result<(), LabError> {
    let Some(what) = other_host(was, is) else { return Ok(()) };
    if is_extended {
        return Err(LabError::OtherHost { what });
    }
    listener.warn(format!("{what}: differences between old and new trials may come from the host"));
    Ok(())
}

/// Whether the same servers ran the earlier trials, with the same settings in all trials.
pub(crate) fn same_servers(
    servers: &[ServerFacts],
    experiment: &Experiment,
) -> Result<(), LabError> {
    let earlier = if experiment.servers.is_empty() {
        experiment.server.as_slice()
    } else {
        &experiment.servers
    };
    let mut pairs = earlier.iter().zip(servers);
    if let Some((was, is)) = pairs.clone().find(|(was, is)| was.version_text != is.version_text) {
        return Err(LabError::BegunWithAnother {
            was: was.version_text.clone(),
            is: is.version_text.clone(),
        });
    }
    let (was, is) = (earlier.len(), servers.len());
    let what = match pairs.find_map(|(was, is)| other_server(was, is)) {
        Some(what) => what,
        None if was != is => format!("it had {was} of the servers, and there are {is} now"),
        None => return Ok(()),
    };
    Err(LabError::OtherConditions { what })
}

/// How a server of this version differs from the earlier one. Where its settings are from does not
/// matter, nor their order.
fn other_server(was: &ServerFacts, is: &ServerFacts) -> Option<String> {
    if was.name != is.name {
        let [was, is] = [was, is].map(|facts| facts.name.as_deref().unwrap_or("without a name"));
        return Some(format!("the server was {was}, and is {is} now"));
    }
    let mut names = was.chosen_settings.iter().chain(&is.chosen_settings).map(|(name, _)| name);
    names.find_map(|name| match (chosen_value(was, name), chosen_value(is, name)) {
        (Some(then), Some(now)) if same_setting(then, now) => None,
        (Some(then), Some(now)) => Some(format!("{name} was {then}, and is {now} now")),
        (Some(then), None) => Some(format!("{name} was {then}, and is left to the server now")),
        (None, Some(now)) => Some(format!("{name} was left to the server, and is {now} now")),
        (None, None) => None,
    })
}

fn chosen_value<'f>(facts: &'f ServerFacts, wanted: &str) -> Option<&'f str> {
    let (_, value) = facts.chosen_settings.iter().find(|(name, _)| name == wanted)?;
    Some(value)
}

/// The difference between this host and the host of the earlier trials, as far as it can be
/// detected.
fn other_host(was: &HostFacts, is: &HostFacts) -> Option<String> {
    let [was_on, is_on] = [was, is].map(|host| host.device.as_deref().unwrap_or("not known"));
    let pairs = [
        ("the host", was.hostname.as_str(), is.hostname.as_str()),
        ("the CPU", &was.cpu_model, &is.cpu_model),
        ("the number of cores", &was.cores.to_string(), &is.cores.to_string()),
        ("the disk", was_on, is_on),
    ];
    let differing = pairs.into_iter().find(|(_, was, is)| was != is);
    differing.map(|(what, was, is)| {
        format!("{what} was {was} when this experiment started, and is {is} now")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(chosen: &[(&str, &str)]) -> ServerFacts {
        let chosen = chosen.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ServerFacts {
            chosen_settings: chosen.collect(),
            ..ServerFacts::from_version_text("10.11.19-MariaDB")
        }
    }

    #[test]
    fn servers_differ_by_what_they_do_and_not_by_their_form() {
        let check = |was: &[(&str, &str)], is: &[(&str, &str)], expect: Option<&str>| {
            assert_eq!(other_server(&facts(was), &facts(is)).as_deref(), expect, "{was:?} {is:?}");
        };
        let pool = "innodb_buffer_pool_size";
        check(
            &[(pool, "1G"), ("server_id", "1")],
            &[("server_id", "1"), (pool, "1073741824")],
            None,
        );
        check(
            &[(pool, "1G")],
            &[(pool, "2G")],
            Some("innodb_buffer_pool_size was 1G, and is 2G now"),
        );
        // As truetps chose it before it left to the server what only one side of `explain` sets.
        check(
            &[(pool, "1G")],
            &[],
            Some("innodb_buffer_pool_size was 1G, and is left to the server now"),
        );
        check(
            &[],
            &[(pool, "1G")],
            Some("innodb_buffer_pool_size was left to the server, and is 1G now"),
        );
        let of_file =
            ServerFacts { of_option_file: vec![pool.to_owned()], ..facts(&[(pool, "1G")]) };
        assert_eq!(
            other_server(&facts(&[(pool, "1G")]), &of_file),
            None,
            "an older record does not say where it is from"
        );
        let named = ServerFacts { name: Some("prod".to_owned()), ..facts(&[]) };
        let renamed = Some("the server was without a name, and is prod now".to_owned());
        assert_eq!(other_server(&facts(&[]), &named), renamed);
    }
}
