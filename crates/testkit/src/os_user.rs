//! The user that a server runs as. PostgreSQL refuses to run as root.

use std::fs;

use rustix::process::geteuid;

/// The unprivileged user for servers started by root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OsUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl OsUser {
    /// `None`: the current user, which is not root. Servers started by root run as `postgres`, else
    /// `nobody`; initdb requires a user of /etc/passwd.
    pub(crate) fn choose() -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        ["postgres", "nobody"].into_iter().find_map(|name| Self::named(&passwd, name))
    }

    fn named(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(str::parse);
        let (uid, gid) = (ids.next()?.ok()?, ids.next()?.ok()?);
        (uid != 0).then_some(Self { uid, gid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_the_user_s_line() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\nbad:x:y:1::/:\n";
        assert_eq!(OsUser::named(passwd, "nobody"), Some(OsUser { uid: 65534, gid: 65533 }));
        for name in ["root", "bad", "nobod", "missing"] {
            assert_eq!(OsUser::named(passwd, name), None, "{name}");
        }
    }
}
