//! Test programs of the workspace, as cargo builds and names them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::reserved::ReservedTest;
use crate::tidy::collect;

/// In the code of programs whose tests take permits.
const TAKES_PERMITS: [&str; 2] = ["truetps_testkit", "common/mod.rs"];

#[derive(Debug)]
pub(super) struct TestProgram {
    /// Package and target.
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// Where cargo starts it.
    pub(super) package_folder: PathBuf,
    /// Its tests take permits, one each.
    pub(super) takes_permits: bool,
    /// Tests that run after all others.
    pub(super) reserved: Vec<String>,
}

/// What cargo says of something that it built.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: CargoTarget,
    profile: CargoProfile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct CargoProfile {
    test: bool,
}

/// Builds the programs of these packages; of the workspace if none is named.
pub(super) fn build(
    root: &Path,
    packages: &[String],
    reserved: &[ReservedTest],
) -> anyhow::Result<Vec<TestProgram>> {
    #[expect(clippy::disallowed_methods, reason = "chores run cargo")]
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--quiet", "--no-run"]);
    if packages.is_empty() {
        command.arg("--workspace");
    }
    let output = command
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo")?;
    if !output.status.success() {
        bail!("cargo test --no-run: {}", output.status);
    }
    let mut programs = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // Other messages have other members.
        let Ok(artifact) = serde_json::from_str::<Artifact>(line) else { continue };
        if artifact.profile.test && artifact.executable.is_some() {
            programs.push(TestProgram::new(artifact, reserved)?);
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

impl TestProgram {
    fn new(artifact: Artifact, reserved: &[ReservedTest]) -> anyhow::Result<Self> {
        let Artifact { manifest_path, target, executable, .. } = artifact;
        let package_folder = manifest_path.parent().context("a manifest in no folder")?.to_owned();
        let package = package_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_integration = target.kind.iter().any(|kind| kind == "test");
        let name = if is_integration {
            format!("{package}/{}", target.name)
        } else {
            format!("{package}/{}", target.kind.join("-"))
        };
        let code = if is_integration { code_of(&target.src_path)? } else { String::new() };
        let of_this = reserved.iter().filter(|test| test.package == package);
        let of_this = of_this.filter(|test| {
            test.is_integration == is_integration
                && (!is_integration || code.contains(&format!("fn {}(", test.name)))
        });
        Ok(Self {
            name,
            executable: executable.context("a program without a file")?,
            package_folder,
            takes_permits: TAKES_PERMITS.iter().any(|word| code.contains(word)),
            reserved: of_this.map(|test| test.name.clone()).collect(),
        })
    }
}

/// A program of several files has a folder of its own.
fn code_of(main: &Path) -> anyhow::Result<String> {
    let mut files = vec![main.to_owned()];
    if main.ends_with("main.rs") {
        files.clear();
        collect(main.parent().context("a file in no folder")?, &["rs"], &mut files)?;
    }
    let mut code = String::new();
    for file in files {
        code += &fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    }
    Ok(code)
}
