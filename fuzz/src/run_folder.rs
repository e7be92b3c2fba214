//! A run folder that was edited, or made by another program: it is read, analysed and reported in
//! every format.

use std::cell::OnceCell;
use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use truetps_archive::{Histograms, Run};
use truetps_report::{
    ComparedSide, FORMATS, FailIf, FolderAnswer, ReportAnswer, ReportInput, RunComparison,
    StallList, TextScreen,
};

/// Ends each file of the input.
const SEPARATOR: u8 = 0x1e;
const TRIALS: [&str; 2] = ["trial-0001", "trial-0002"];

macro_rules! whole_file {
    ($path:literal) => {
        ($path, include_bytes!(concat!("../../crates/report/testdata/before-probe/", $path)))
    };
}

/// Letters of the files that the folder has, with their content: what a mutation begins with.
pub fn whole_files() -> impl Iterator<Item = (u8, &'static [u8])> {
    (b'a'..=b'z').filter_map(|letter| {
        let (file, ..) = file_of(&[letter])?;
        let (_, content) = WHOLE.iter().find(|(name, _)| *name == file)?;
        Some((letter, *content))
    })
}

/// What the folder has where the input says nothing: two trials of a real run.
const WHOLE: [(&str, &[u8]); 10] = [
    whole_file!("experiment.json"),
    whole_file!("plan.toml"),
    whole_file!("trial-0001/run.json"),
    whole_file!("trial-0001/intervals.jsonl"),
    whole_file!("trial-0001/latency.hdr"),
    whole_file!("trial-0001/server/variables.json"),
    whole_file!("trial-0002/run.json"),
    whole_file!("trial-0002/intervals.jsonl"),
    whole_file!("trial-0002/latency.hdr"),
    whole_file!("trial-0002/server/variables.json"),
];

/// Files, each with a letter in front that names it, separated by the byte 0x1e.
///
/// Whatever they have, all that reads a run folder ends, with an answer or an error.
pub fn run_folder(data: &[u8]) {
    thread_local! {
        static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
    }
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(whole_folder).path();
        let changed: Vec<_> = data.split(|byte| *byte == SEPARATOR).filter_map(file_of).collect();
        for (file, content) in &changed {
            fs::write(folder.join(file), content).expect("a folder of the fuzzer's own");
        }
        read(folder);
        for (file, _) in &changed {
            match WHOLE.iter().find(|(name, _)| name == file) {
                Some((_, content)) => {
                    fs::write(folder.join(file), content).expect("a folder of the fuzzer's own")
                }
                None => _ = fs::remove_file(folder.join(file)),
            }
        }
    });
}

fn whole_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).expect("a temporary folder can be made");
    for trial in TRIALS {
        fs::create_dir_all(folder.path().join(trial).join("server")).expect("an empty folder");
    }
    for (file, content) in WHOLE {
        fs::write(folder.path().join(file), content).expect("an empty folder");
    }
    folder
}

fn file_of(part: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let (letter, content) = part.split_first()?;
    let file = match letter {
        b'e' => "experiment.json",
        b'p' => "plan.toml",
        b'r' => "trial-0001/run.json",
        b's' => "trial-0002/run.json",
        b'i' => "trial-0001/intervals.jsonl",
        b'b' => "trial-0001/probe.jsonl",
        b'l' | b'h' => "trial-0001/latency.hdr",
        b'v' => "trial-0001/server/variables.json",
        b'y' => "trial-0001/sysbench.json",
        _ => return None,
    };
    Some((file, if *letter == b'h' { histogram_line(content) } else { content.to_vec() }))
}

/// Bytes of a histogram, packed as a line of `latency.hdr`: no fuzzer finds the checksum of a
/// compressed stream.
fn histogram_line(plain: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(plain).expect("memory takes everything");
    let packed = packed.finish().expect("memory takes everything");
    let bytes = [&0x1c84_9314_u32.to_be_bytes()[..], &(packed.len() as u32).to_be_bytes(), &packed]
        .concat();
    format!("Tag=measure,1.000,1.000,0.100,{}\n", STANDARD.encode(bytes)).into_bytes()
}

fn read(path: &Path) {
    if let Ok(run) = Run::open(path, Histograms::Read) {
        report(&run);
        stalls(&run);
    }
    let [a, b] = TRIALS.map(|trial| Run::open(&path.join(trial), Histograms::LeftOut).ok());
    if let (Some(a), Some(b)) = (a, b) {
        compare_runs(&a, &b);
        compare_runs(&a, &a);
        compare_runs(&a, &Run { path: "elsewhere".into(), ..b });
    }
}

fn report(run: &Run) {
    let analysis = run.analyse();
    let input = ReportInput { run, analysis: &analysis };
    input.html();
    draw(&input);
}

fn stalls(run: &Run) {
    draw(&StallList { name: "a", run });
}

fn draw(answer: &dyn ReportAnswer) {
    for format in &FORMATS {
        format.draw(answer, TextScreen::PLAIN);
    }
}

fn compare_runs(a: &Run, b: &Run) {
    let (Some(a), Some(b)) = (side("a", a), side("b", b)) else { return };
    let thresholds =
        ["tps<-5%", "durability"].map(|text| text.parse::<FailIf>().expect("a threshold"));
    let compared = RunComparison::all(&[(a, b)], &thresholds);
    draw(&compared);
}

/// `None`: no valid trial, which is never compared.
fn side<'a>(name: &'a str, run: &'a Run) -> Option<ComparedSide<'a>> {
    let configuration = &run.comparable().next()?.trial.configuration;
    Some(ComparedSide { name, run, configuration })
}
