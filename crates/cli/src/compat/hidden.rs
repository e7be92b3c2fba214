//! Passwords of a command line and of the environment. Every user of the machine can read the
//! former as long as a program runs, and a script of sysbench, with each program that it starts,
//! the latter: so the program executes itself again, with the same number, without them. They come
//! along in an open file without a name, which is empty once it was read.

use std::ffi::{CString, OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, memfd_create};
use truetps_compat::{HIDDEN_WORDS, masked_mtls, masked_slap};
use truetps_record::{Personality, SECRET_VARIABLES};

use super::called::called;

const OURSELVES: &str = "/proc/self/exe";

/// Secrets that were in the environment.
static SECRETS: OnceLock<Vec<(&str, OsString)>> = OnceLock::new();

/// One of [`SECRET_VARIABLES`] that was in the environment before this program executed itself
/// again.
pub(super) fn secret(variable: &str) -> Option<OsString> {
    SECRETS.get()?.iter().find(|(name, _)| *name == variable).map(|(_, value)| value.clone())
}

/// The arguments as they were typed. Before anything else: what has a password among them, or in
/// the environment of a script, is executed again.
pub(crate) fn arguments() -> Vec<OsString> {
    let given: Vec<_> = std::env::args_os().collect();
    let handed = std::env::var(HIDDEN_WORDS).ok().and_then(|number| read_handed_over(&number));
    if let Some(restored) = handed.and_then(|handed| restored(&given, &handed, std::process::id()))
    {
        name_thread(&given[0]);
        let _ = SECRETS.set(restored.secrets);
        return restored.arguments;
    }
    let (masks, secrets) = (masks(&given), secrets_of_scripts(&given));
    // Where it cannot be done the program goes on: a password that is seen is not a reason to
    // leave undone what is wanted.
    if (masks.iter().any(Option::is_some) || !secrets.is_empty()) && Path::new(OURSELVES).exists() {
        let _ = execute_again(&given, &masks, &secrets);
    }
    given
}

/// What the environment of a script must not have.
fn secrets_of_scripts(given: &[OsString]) -> Vec<(&'static str, OsString)> {
    let has_script = called(given.to_vec()).is_some_and(|(tool, _)| tool == Personality::Sysbench);
    let set = SECRET_VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    set.filter(|_| has_script).collect()
}

/// What is shown in place of each argument, where that is something else.
fn masks(given: &[OsString]) -> Vec<Option<OsString>> {
    let Some((tool, arguments)) = called(given.to_vec()) else { return Vec::new() };
    let behind = match tool {
        Personality::Sysbench => truetps_sysbench::masked(&arguments),
        Personality::Slap => masked_slap(&arguments),
        Personality::Mtls => masked_mtls(&arguments),
        Personality::Verify => return Vec::new(),
    };
    let mut masks = vec![None; given.len().saturating_sub(behind.len())];
    masks.extend(behind);
    masks
}

/// It returns only where it has failed.
#[expect(clippy::disallowed_methods, reason = "no other program, and no other process")]
fn execute_again(
    given: &[OsString],
    masks: &[Option<OsString>],
    secrets: &[(&str, OsString)],
) -> io::Result<()> {
    let shown: Vec<_> = given
        .iter()
        .enumerate()
        .map(|(index, word)| masks.get(index).and_then(Option::as_ref).unwrap_or(word))
        .collect();
    // It stays open for the next program.
    let mut file = File::from(memfd_create(HIDDEN_WORDS, MemfdFlags::empty())?);
    file.write_all(handed_over(given, masks, secrets, std::process::id()).as_bytes())?;
    let mut again = Command::new(OURSELVES);
    again.arg0(&given[0]).args(&shown[1..]).env(HIDDEN_WORDS, file.as_raw_fd().to_string());
    for (name, _) in secrets {
        again.env_remove(name);
    }
    Err(again.exec())
}

/// What the program before this one has left in its file, which is emptied: programs of a script
/// inherit it.
fn read_handed_over(number: &str) -> Option<String> {
    let number: u32 = number.parse().ok()?;
    let mut file =
        File::options().read(true).write(true).open(format!("/proc/self/fd/{number}")).ok()?;
    if !std::fs::read_link(format!("/proc/self/fd/{number}"))
        .ok()?
        .to_string_lossy()
        .contains(HIDDEN_WORDS)
    {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    file.set_len(0).ok()?;
    Some(text)
}

/// `number of the process,index of the word=bytes in hex,variable=bytes in hex,…`: the process
/// keeps its number, and no other one takes them for its own.
fn handed_over(
    given: &[OsString],
    masks: &[Option<OsString>],
    secrets: &[(&str, OsString)],
    pid: u32,
) -> String {
    let mut text = pid.to_string();
    for (index, (word, _)) in
        given.iter().zip(masks).enumerate().filter(|(_, (_, mask))| mask.is_some())
    {
        add_value(&mut text, &index.to_string(), word);
    }
    for (name, value) in secrets {
        add_value(&mut text, name, value);
    }
    text
}

fn add_value(text: &mut String, name: &str, value: &OsStr) {
    let _ = write!(text, ",{name}=");
    for byte in value.as_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
}

/// What was handed over.
#[derive(Debug, PartialEq)]
struct RestoredWords {
    arguments: Vec<OsString>,
    secrets: Vec<(&'static str, OsString)>,
}

/// `None` where it is for another process.
fn restored(given: &[OsString], handed: &str, pid: u32) -> Option<RestoredWords> {
    let mut parts = handed.split(',');
    parts.next().filter(|number| *number == pid.to_string())?;
    let mut restored = RestoredWords { arguments: given.to_vec(), secrets: Vec::new() };
    for part in parts {
        let (name, hex) = part.split_once('=')?;
        let value = OsString::from_vec(bytes(hex)?);
        match SECRET_VARIABLES.into_iter().find(|variable| *variable == name) {
            Some(variable) => restored.secrets.push((variable, value)),
            None => *restored.arguments.get_mut(name.parse::<usize>().ok()?)? = value,
        }
    }
    Some(restored)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    Some(
        digits?
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect(),
    )
}

/// The kernel has named it after the path that it was executed by.
fn name_thread(program: &OsStr) {
    let name = Path::new(program).file_name().and_then(|name| CString::new(name.as_bytes()).ok());
    if let Some(name) = name {
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_comes_back_to_its_owner_alone() {
        let given = ["truetps", "slap", "-p\u{e4},=1", "-a"].map(OsString::from);
        let odd = [&given[..], &[OsString::from_vec(vec![b'-', b'p', 0xff])]].concat();
        let masks = [None, None, Some(OsString::from("-px")), None, Some("-px".into())];
        let secrets = vec![
            ("TRUETPS_PASSWORD", OsString::from("h1dden,=")),
            ("TRUETPS_GATEWAY_TOKENS", OsString::new()),
        ];
        let handed = handed_over(&odd, &masks, &secrets, 77);
        let shown = ["truetps", "slap", "-px", "-a", "-px"].map(OsString::from);
        assert_eq!(restored(&shown, &handed, 77), Some(RestoredWords { arguments: odd, secrets }));
        assert_eq!(restored(&shown, &handed, 78), None);
        for nonsense in ["", "77,9=00", "77,1", "77,1=zz", "77,x=00", "77,HOME=00"] {
            assert_eq!(restored(&shown, nonsense, 77), None, "{nonsense}");
        }
    }

    #[test]
    fn only_the_words_of_the_two_programs_are_masked() {
        let some = |words: &[&str]| {
            let masks = masks(&words.iter().map(OsString::from).collect::<Vec<_>>());
            masks.iter().position(Option::is_some)
        };
        assert_eq!(some(&["truetps", "slap", "-a", "-psecret"]), Some(3));
        assert_eq!(some(&["/bin/mysqlslap", "-a", "-psecret"]), Some(2));
        assert_eq!(some(&["truetps", "mtls", "--password=secret", "insert"]), Some(2));
        assert_eq!(some(&["truetps", "slap", "-a", "-p"]), None);
        assert_eq!(some(&["truetps", "run", "-psecret"]), None);
        assert_eq!(some(&[]), None);
    }
}
