//! The operating-system user of a server.

use std::fs;

use rustix::process::{getegid, geteuid};

/// The user of a server: the current one, or an unprivileged one if the current one is root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUser {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    /// The server's uid differs from the current one: switch to it before the server's program
    /// starts, and make it the owner of its files.
    pub switch: bool,
}

/// Used if /etc/passwd has no line for `nobody`: the kernel's overflow uid.
const OVERFLOW_ID: u32 = 65_534;

impl ServerUser {
    /// `mysql`, else `nobody`, if the current user is root; otherwise the current user.
    pub fn choose() -> Self {
        if !geteuid().is_root() {
            return Self::ourselves();
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::unprivileged(&passwd)
    }

    pub(crate) fn ourselves() -> Self {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Self { name: format!("uid {uid}"), uid, gid, switch: false }
    }

    fn unprivileged(passwd: &str) -> Self {
        let found = ["mysql", "nobody"]
            .into_iter()
            .find_map(|name| ids_of(passwd, name).map(|ids| (name, ids)));
        let (name, (uid, gid)) = found.unwrap_or(("nobody", (OVERFLOW_ID, OVERFLOW_ID)));
        Self { name: name.to_owned(), uid, gid, switch: true }
    }
}

/// Uid and gid of a user in the text of /etc/passwd. A line with root's uid is skipped.
fn ids_of(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let uid = fields.next()?.parse().ok().filter(|uid| *uid != 0)?;
    Some((uid, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_before_nobody_and_never_root() {
        let check = |passwd: &str, name, uid| {
            let user = ServerUser::unprivileged(passwd);
            assert_eq!((user.name.as_str(), user.uid, user.switch), (name, uid, true), "{passwd}");
        };
        let nobody = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        check(nobody, "nobody", 65534);
        check(&format!("{nobody}mysql:x:101:102::/:/bin/false\n"), "mysql", 101);
        check(&format!("{nobody}mysql:x:0:0::/:/bin/false\n"), "nobody", 65534);
        check("", "nobody", OVERFLOW_ID);
    }
}
