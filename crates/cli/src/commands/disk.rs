//! `truetps disk`: the profiles of emulated disks, and the helper that runs one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use truetps_disk::{
    DiskMeasurement, DiskProfile, FlushTimes, WriteTimes, measure_disk, run_helper,
};
use truetps_report::format;

use crate::args::DiskCommand;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::screen::screen;
use crate::signals;
use crate::site::profile;
use crate::terminal::{print_out, print_progress};

pub(crate) fn run(command: &DiskCommand) -> Result<Exit, CommandFailure> {
    match command {
        DiskCommand::List => Ok(list()),
        DiskCommand::Show { profile } => show(profile),
        DiskCommand::Measure { folder, output } => measure(folder, output.as_deref()),
    }
}

fn list() -> Exit {
    let profiles = DiskProfile::names().filter_map(|name| DiskProfile::find(name).ok());
    let screen = screen();
    let mut lines: Vec<_> =
        profiles.map(|profile| screen.listed(&profile.name, 10, &profile.about)).collect();
    lines.push(screen.listed(
        "flush-TIME",
        10,
        "Each flush takes this time, as in flush-10ms or flush-100us.",
    ));
    print_out(&lines.concat())
}

fn show(name: &str) -> Result<Exit, CommandFailure> {
    Ok(print_out(&profile(name)?.to_toml()))
}

fn measure(folder: &Path, output: Option<&Path>) -> Result<Exit, CommandFailure> {
    let name = output.and_then(|path| path.file_stem()?.to_str()).unwrap_or("measured");
    if let Some(path) = output.filter(|path| path.symlink_metadata().is_ok()) {
        return Err(CommandFailure::usage(format!("{}: exists already", path.display()))
            .hint("name another file"));
    }
    let found = measure_disk(folder)?;
    let printed = print_out(&disk_text(&found));
    let Some(path) = output else { return Ok(printed) };
    // A profile that this program would refuse is none.
    let text = found.profile(name).to_toml();
    DiskProfile::parse(&text)?;
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CommandFailure::usage(format!("{}: {error}", path.display())))?;
    print_progress(&format!("Saved  {}\nNext   truetps run insert --disk {0}\n", path.display()));
    Ok(printed)
}

fn disk_text(found: &DiskMeasurement) -> String {
    let FlushTimes { overwrite_us_p50, overwrite_us_p99, append_us_p50, append_us_p99, .. } =
        found.flush;
    let mut lines = vec![
        format!("a page written and flushed   {}", times_text(overwrite_us_p50, overwrite_us_p99)),
        format!("the same in a growing file   {}", times_text(append_us_p50, append_us_p99)),
    ];
    lines.extend(found.writes.iter().map(|one| {
        let WriteTimes { depth, latency_us_p50, latency_us_p99, iops } = *one;
        let times = times_text(latency_us_p50, latency_us_p99);
        format!("{depth:>2} writes of 4 KiB at once    {times}; {} a second", format::whole(iops))
    }));
    lines
        .push(format!("sequential writes            {} MB/s", format::whole(found.bandwidth_mb_s)));
    lines.join("\n") + "\n"
}

fn times_text(us_p50: f64, us_p99: f64) -> String {
    format!("{} (p50), {} (p99)", format::duration_us(us_p50), format::duration_us(us_p99))
}

/// Runs the disk that the parent process asks for, until that closes the input. One that stays ends
/// at a signal; before, a signal ends no disk under its server.
pub(crate) fn help() -> Result<Exit, CommandFailure> {
    let mut signals = signals::waiting()?;
    run_helper(io::stdin().lock(), io::stdout(), || {
        signals.forever().next();
    })
    .map_err(CommandFailure::failed)?;
    Ok(Exit::Good)
}
