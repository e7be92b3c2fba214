//! The script that the command line names, and its limits.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use truetps_record::without_login;

use crate::lua::{self, LoadedSources, LuaScript, ScriptSource};
use crate::options::{FirstPass, RunSettings, SysbenchRelease};

use super::environment::SysbenchEnv;

/// Tests that sysbench has built in.
const CPU: &str = include_str!("../lua/prelude/cpu.lua");
const NOT_DATABASES: [&str; 4] = ["fileio", "memory", "threads", "mutex"];

/// # Errors
///
/// Why there is none, for the user.
pub(super) fn find_script(
    pass: &FirstPass,
    settings: &RunSettings,
    env: &SysbenchEnv<'_>,
) -> Result<LuaScript, String> {
    let line = &pass.command_line;
    let package_path = lua::package_path(env.environment);
    let name = line.test.clone().map(OsString::into_vec).filter(|name| name != b"-");
    // Standard input has only a body.
    let command = line.command.clone().map(OsString::into_vec).filter(|_| name.is_some());
    let source = match &name {
        None => read_stdin(),
        Some(name) => find_named(name, &package_path)?,
    };
    let sources = LoadedSources::default();
    if let ScriptSource::Text { name, text } = &source {
        sources.add_script(name.trim_start_matches('='), text);
    }
    Ok(LuaScript {
        source,
        name: name.unwrap_or_default(),
        command,
        argv: line.argv.iter().cloned().map(OsString::into_vec).collect(),
        version: pass.compat.version(),
        has_legacy: pass.compat == SysbenchRelease::V1_0,
        package_path,
        package_cpath: lua::package_cpath(env.environment),
        memory_limit_bytes: settings
            .ours
            .lua_memory_limit
            .map_or_else(memory_limit, |bytes| bytes as usize),
        luajit_command: settings.luajit_cmd.clone(),
        sources: Arc::new(sources),
    })
}

fn read_stdin() -> ScriptSource {
    let mut text = Vec::new();
    // Input that cannot be read is ignored.
    let _ = std::io::stdin().read_to_end(&mut text);
    ScriptSource::Text { name: "=stdin", text }
}

fn find_named(name: &[u8], package_path: &[u8]) -> Result<ScriptSource, String> {
    if name == b"cpu" {
        return Ok(ScriptSource::Text { name: "=cpu", text: CPU.as_bytes().to_vec() });
    }
    let name_text = String::from_utf8_lossy(name);
    // An address may have been typed instead of a test.
    let shown = without_login(&name_text);
    if NOT_DATABASES.contains(&&*shown) {
        return Err(format!(
            "the built-in test '{shown}' is not part of truetps, which measures databases; use \
             sysbench for it"
        ));
    }
    let found = lua::find(name, package_path);
    found.ok_or_else(|| {
        format!("Cannot find benchmark '{shown}': no such built-in test, file or module")
    })
}

/// Default memory limit of a state: half of the system's memory, so that a script that exceeds it
/// gets a Lua error. Without a limit the whole process would be killed.
fn memory_limit() -> usize {
    const LIMIT_MIN: u64 = 256 << 20;
    let may_have =
        rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX);
    let pages = rustix::system::sysinfo();
    let memory = u64::from(pages.mem_unit) * pages.totalram as u64;
    (memory.min(may_have) / 2).max(LIMIT_MIN) as usize
}
