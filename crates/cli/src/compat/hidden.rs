//! Passwords of a command line. Every user of the machine can read it as long as a program runs: so the program executes
//! itself again, with the same number, without them. They come along in the environment, which only the user can read.

use std::ffi::{CString, OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use truetps_compat::{HIDDEN_WORDS, masked_mtls, masked_slap};
use truetps_record::Personality;

use super::called;

const OURSELVES: &str = "/proc/self/exe";

/// The arguments as they were typed. Before anything else: what has a password among them is executed again.
pub(crate) fn arguments() -> Vec<OsString> {
    let given: Vec<_> = std::env::args_os().collect();
    let typed = std::env::var_os(HIDDEN_WORDS).and_then(|handed| restored(&given, &handed, std::process::id()));
    if let Some(typed) = typed {
        name_thread(&given[0]);
        return typed;
    }
    let masks = masks(&given);
    // Where it cannot be done the program goes on: a password that is seen is no reason not to do what is wanted.
    if masks.iter().any(Option::is_some) && Path::new(OURSELVES).exists() {
        execute_again(&given, &masks);
    }
    given
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
fn execute_again(given: &[OsString], masks: &[Option<OsString>]) {
    let shown = given.iter().zip(masks).map(|(word, mask)| mask.as_ref().unwrap_or(word));
    let handed = handed_over(given, masks, std::process::id());
    let _ = Command::new(OURSELVES).arg0(&given[0]).args(shown.skip(1)).env(HIDDEN_WORDS, handed).exec();
}

/// `number of the process,place=bytes in hex,…`: the process keeps its number, and no other one takes them for its own.
fn handed_over(given: &[OsString], masks: &[Option<OsString>], pid: u32) -> String {
    let mut text = pid.to_string();
    for (place, (word, _)) in given.iter().zip(masks).enumerate().filter(|(_, (_, mask))| mask.is_some()) {
        let _ = write!(text, ",{place}=");
        for byte in word.as_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}

/// The arguments with what was handed over; `None` where that is for another process.
fn restored(given: &[OsString], handed: &OsStr, pid: u32) -> Option<Vec<OsString>> {
    let mut parts = handed.to_str()?.split(',');
    parts.next().filter(|number| *number == pid.to_string())?;
    let mut typed = given.to_vec();
    for part in parts {
        let (place, hex) = part.split_once('=')?;
        *typed.get_mut(place.parse::<usize>().ok()?)? = OsString::from_vec(bytes(hex)?);
    }
    Some(typed)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    Some(digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
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
        let handed = handed_over(&odd, &masks, 77);
        let shown = ["truetps", "slap", "-px", "-a", "-px"].map(OsString::from);
        assert_eq!(restored(&shown, OsStr::new(&handed), 77), Some(odd));
        assert_eq!(restored(&shown, OsStr::new(&handed), 78), None);
        for nonsense in ["", "77,9=00", "77,1", "77,1=zz", "77,x=00"] {
            assert_eq!(restored(&shown, OsStr::new(nonsense), 77), None, "{nonsense}");
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
