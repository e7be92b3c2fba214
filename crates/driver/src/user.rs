//! The account if none is named.

use std::fs;

use rustix::process::geteuid;

/// As MySQL's and PostgreSQL's clients do: the user of the process, or the user in the environment
/// if that one has no name.
pub fn current(environment: &dyn Fn(&str) -> Option<String>) -> String {
    let uid = geteuid();
    if uid.is_root() {
        return "root".to_owned();
    }
    let passwd = fs::read("/etc/passwd").unwrap_or_default();
    name(uid.as_raw(), &String::from_utf8_lossy(&passwd), environment)
}

fn name(uid: u32, passwd: &str, environment: &dyn Fn(&str) -> Option<String>) -> String {
    name_of(passwd, uid)
        .or_else(|| ["USER", "LOGNAME", "LOGIN"].into_iter().find_map(environment))
        .unwrap_or_else(|| "UNKNOWN_USER".to_owned())
}

/// The name of a user in the text of /etc/passwd.
fn name_of(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_asked_before_the_environment() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n:x:7:7:::\nbroken\n";
        let all = |name: &str| Some(format!("from {name}"));
        assert_eq!(name(1000, passwd, &all), "me");
        assert_eq!(name(7, passwd, &all), "from USER");
        assert_eq!(
            name(4242, passwd, &|name| (name == "LOGNAME").then(|| "her".to_owned())),
            "her"
        );
        assert_eq!(name(4242, "", &|_| None), "UNKNOWN_USER");
    }
}
