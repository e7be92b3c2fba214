//! Whose command line it is.

use std::ffi::OsString;
use std::path::Path;

use truetps_record::Personality;

/// The names of links to this program that mean a program's command line.
const LINKS: [(Personality, &[&str]); 3] = [
    (Personality::Sysbench, &["sysbench"]),
    (Personality::Slap, &["mysqlslap", "mariadb-slap"]),
    (Personality::Mtls, &["mtls-perf-bench"]),
];

/// The program whose command line it is, and its arguments, its own name first; `None`: truetps
/// itself. The name that the program was called by decides: after such a name every word belongs to
/// the other program.
pub(crate) fn called(mut arguments: Vec<OsString>) -> Option<(Personality, Vec<OsString>)> {
    let program = Path::new(arguments.first()?).file_name()?;
    if let Some((linked, _)) =
        LINKS.iter().find(|(_, links)| links.iter().any(|link| program == *link))
    {
        return Some((*linked, arguments));
    }
    let typed = arguments.get(1)?;
    let (named, _) = LINKS.iter().find(|(personality, _)| typed == personality.word())?;
    arguments.remove(0);
    Some((*named, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> Option<(Personality, Vec<OsString>)> {
        super::called(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn by_a_word_or_by_a_link() {
        assert_eq!(called(&["/opt/mtls-perf-bench", "insert"]).unwrap().0, Personality::Mtls);
        let (tool, words) = called(&["/bin/truetps", "sysbench", "--help"]).unwrap();
        assert!(tool == Personality::Sysbench && words == ["sysbench", "--help"]);
        assert_eq!(called(&["/opt/sysbench", "slap"]).unwrap().0, Personality::Sysbench);
        assert_eq!(
            called(&["/bin/mysqlslap", "sysbench"]).unwrap().0,
            Personality::Slap,
            "the link decides"
        );
        assert_eq!(
            called(&["sysbench", "mtls"]).unwrap(),
            (Personality::Sysbench, vec!["sysbench".into(), "mtls".into()])
        );
        assert_eq!(
            called(&["truetps", "slap", "-a"]).unwrap(),
            (Personality::Slap, vec!["slap".into(), "-a".into()])
        );
        assert_eq!(called(&["/usr/bin/mariadb-slap"]).unwrap().0, Personality::Slap);
        assert_eq!(called(&["truetps", "run", "sysbench"]), None);
        assert_eq!(called(&[]), None);
    }
}
