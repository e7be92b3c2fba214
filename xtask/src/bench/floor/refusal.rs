//! Why a kernel gives no io_uring.

use std::fs;
use std::io;

use rustix::io::Errno;

const DISABLED: &str = "/proc/sys/kernel/io_uring_disabled";

/// Its text is the reason. The variant then has no figure.
#[derive(Debug)]
pub(super) struct UringRefusal(String);

impl From<io::Error> for UringRefusal {
    fn from(error: io::Error) -> Self {
        let disabled = fs::read_to_string(DISABLED).unwrap_or_default();
        Self(reason(&error, disabled.trim()))
    }
}

impl std::fmt::Display for UringRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no io_uring: {}", self.0)
    }
}

impl std::error::Error for UringRefusal {}

/// `disabled`: the value of kernel.io_uring_disabled; empty before Linux 6.6, which has no such setting.
fn reason(error: &io::Error, disabled: &str) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOSYS) => "this kernel has none, or a seccomp filter hides it".to_owned(),
        Some(Errno::PERM | Errno::ACCESS) if matches!(disabled, "1" | "2") => {
            format!("forbidden by kernel.io_uring_disabled = {disabled}")
        }
        Some(Errno::PERM | Errno::ACCESS) => "forbidden by a seccomp filter, as in most containers".to_owned(),
        Some(Errno::NOMEM) => "too little memory may be locked; raise `ulimit -l`".to_owned(),
        Some(Errno::INVAL) => "this kernel is too old for this form, or allows fewer requests".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_reason() {
        let check = |error: Errno, disabled: &str, words: &str| {
            let text = UringRefusal(reason(&error.into(), disabled)).to_string();
            assert!(text.starts_with("no io_uring: ") && text.contains(words), "{text}");
        };
        check(Errno::NOSYS, "", "has none");
        check(Errno::PERM, "2", "kernel.io_uring_disabled = 2");
        check(Errno::PERM, "0", "seccomp");
        check(Errno::ACCESS, "", "seccomp");
        check(Errno::NOMEM, "0", "ulimit -l");
        check(Errno::INVAL, "0", "too old");
        check(Errno::MFILE, "0", "open files");
    }
}
