//! `truetps prealloc install` and `uninstall`: a drop-in of systemd, and the library.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use truetps_files::{OpenFolder, trusted_path, write_named};
use truetps_preload::{LIBRARY_NAME, Preload, VARIABLE, place};
use truetps_record::{PreallocMode, SettingValue, prealloc_mode};

use super::binlogs::{basename, connect, is_path};
use super::checks::{CheckResult, check_files, check_process, check_server};
use crate::args::{InstallArgs, UninstallArgs};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::print_out;

const SYSTEMD: &str = "/etc/systemd/system";
const DROP_IN: &str = "truetps-prealloc.conf";

pub(super) fn install(args: &InstallArgs) -> Result<Exit, CommandFailure> {
    let mode = mode(&args.mode)?;
    let service = service(&args.service)?;
    // The library takes no other: the server may be in another folder.
    let basename = std::path::absolute(basename(&args.server)?).map_err(CommandFailure::usage)?;
    let program = std::env::current_exe().map_err(CommandFailure::failed)?;
    let library_dir = trusted_path(&args.library_dir).unwrap_or_else(|_| args.library_dir.clone());
    let mut out = String::new();
    let mut is_blocked = false;
    for found in check_files(&program, &library_dir).into_iter().chain(checks(args)?) {
        let (sign, text) = match found {
            CheckResult::Good(text) => ("good", text),
            CheckResult::Note(text) => ("note", text),
            CheckResult::Obstacle(text) => {
                is_blocked = true;
                ("STOP", text)
            }
        };
        let _ = writeln!(out, "{sign}  {text}");
    }
    let library = library_dir.join(LIBRARY_NAME);
    let drop_in = drop_in_path(&service);
    let preload = Preload { is_forced: args.force, ..Preload::new(basename.clone(), mode) };
    let text = drop_in_text(&preload, &library, &program)?;
    if is_blocked {
        let _ = writeln!(out, "\nNothing is installed: the points marked STOP come first.");
        print_out(&out);
        return Ok(Exit::Failed);
    }
    if args.write {
        write(&library_dir, &drop_in, &text)?;
        let _ = writeln!(out, "\nWritten: {}\n         {}\n", library.display(), drop_in.display());
    } else {
        let _ = writeln!(out, "\n# {}\n{text}", drop_in.display());
        let _ = writeln!(
            out,
            "# Nothing was written: with --write, as root, this file and {} are.\n",
            library.display()
        );
    }
    let _ = write!(
        out,
        "Then:  systemctl daemon-reload && systemctl restart {service}\n       truetps prealloc \
         status {0}\n\
         Before a backup that copies the active binlog:  truetps prealloc pause {0}\n",
        basename.display()
    );
    Ok(print_out(&out))
}

fn checks(args: &InstallArgs) -> Result<Vec<CheckResult>, CommandFailure> {
    if is_path(&args.server.named) {
        let text = "the server was not asked: name its address to have version, checksums and \
                    loader checked";
        return Ok(vec![CheckResult::Note(text.to_owned())]);
    }
    let mut client = connect(&args.server)?;
    let mut found = check_server(&mut client, args.force);
    found.extend(check_process(&mut client));
    Ok(found)
}

fn mode(word: &str) -> Result<PreallocMode, CommandFailure> {
    let level =
        word.parse().map_or_else(|_| SettingValue::Text(word.to_owned()), SettingValue::Int);
    let found = prealloc_mode(&level)
        .map_err(|problem| CommandFailure::usage(format!("--mode: {problem}")))?;
    found.ok_or_else(|| {
        CommandFailure::usage("--mode 0: is off").hint("`truetps prealloc uninstall` turns it off")
    })
}

/// The name without its ending: it becomes the name of a folder.
fn service(name: &str) -> Result<String, CommandFailure> {
    let name = name.strip_suffix(".service").unwrap_or(name);
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@\\".contains(c));
    if is_name && !name.starts_with('.') {
        return Ok(name.to_owned());
    }
    Err(CommandFailure::usage(format!("--service {name}: is not the name of a service"))
        .hint("such as mariadb or mysql"))
}

fn drop_in_path(service: &str) -> PathBuf {
    Path::new(SYSTEMD).join(format!("{service}.service.d")).join(DROP_IN)
}

fn drop_in_text(
    preload: &Preload,
    library: &Path,
    program: &Path,
) -> Result<String, CommandFailure> {
    let (value, basename) = (preload.value(), &preload.basename);
    let paths = [library, basename, program];
    // Systemd has its own rules for quotes, `%` and `$`.
    if paths.iter().any(|path| {
        path.to_string_lossy()
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || "\"'\\%$;".contains(c))
    }) {
        let message = "the path of library, binlogs or program has a character that a file of \
                       systemd cannot have";
        return Err(
            CommandFailure::usage(message).hint("blanks, quotes, % and $ are such characters")
        );
    }
    Ok(format!(
        "[Service]\n\
         Environment=LD_PRELOAD={}\n\
         Environment=\"{VARIABLE}={}\"\n\
         # After a crash the binlogs are cut before the server reads them, also if it does not \
         load the library. With the\n\
         # hyphen the server starts also if a damaged binlog was left as it was.\n\
         ExecStartPre=-{} prealloc trim {}\n",
        library.display(),
        value.display(),
        program.display(),
        basename.display()
    ))
}

fn write(library_dir: &Path, drop_in: &Path, text: &str) -> Result<(), CommandFailure> {
    make_library_folder(library_dir)
        .and_then(|()| place(library_dir))
        .map_err(|error| not_written(library_dir, &error))?;
    let folder = drop_in.parent().expect("a drop-in is in a folder");
    fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))?;
    write_named(drop_in, text.as_bytes()).map_err(|error| not_written(drop_in, &error))
}

fn not_written(path: &Path, error: &io::Error) -> CommandFailure {
    let hint = (error.kind() == io::ErrorKind::PermissionDenied).then(|| "use sudo".to_owned());
    CommandFailure::usage(format!("{}: {error}", path.display())).hint_if(hint)
}

/// The server's user has to reach the library, whatever the umask is.
fn make_library_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o755).create(path)?;
    OpenFolder::open(path)?.set_mode(0o755)
}

pub(super) fn uninstall(args: &UninstallArgs) -> Result<Exit, CommandFailure> {
    let service = service(&args.service)?;
    let drop_in = drop_in_path(&service);
    let library = args.library_dir.join(LIBRARY_NAME);
    let mut out = String::new();
    let mut removed = 0;
    for path in [&drop_in, &library] {
        if path.symlink_metadata().is_err() {
            let _ = writeln!(out, "{}: is not there", path.display());
            continue;
        }
        removed += 1;
        if args.write {
            fs::remove_file(path).map_err(|error| {
                CommandFailure::usage(format!("{}: {error}", path.display())).hint("use sudo")
            })?;
            let _ = writeln!(out, "{}: removed", path.display());
        } else {
            let _ = writeln!(out, "{}: would be removed", path.display());
        }
    }
    if removed > 0 && !args.write {
        let _ = writeln!(out, "Nothing was removed: add --write, as root");
    } else if removed > 0 {
        let _ = writeln!(
            out,
            "The running server keeps the library until it is restarted, and cuts its binlogs when \
             it stops:\n  \
             systemctl daemon-reload && systemctl restart {service}"
        );
    }
    Ok(print_out(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_in_names_library_and_binlogs() {
        let basename = Path::new("/var/lib/mysql/binlog");
        let preload = Preload::new(basename.to_owned(), PreallocMode::Ahead);
        let text = drop_in_text(
            &preload,
            Path::new("/usr/local/lib/truetps/lib.so"),
            Path::new("/usr/bin/truetps"),
        )
        .unwrap();
        assert!(text.contains("Environment=LD_PRELOAD=/usr/local/lib/truetps/lib.so\n"), "{text}");
        assert!(
            text.contains(
                "Environment=\"TRUETPS_PREALLOC=basename=/var/lib/mysql/binlog;mode=ahead\"\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("ExecStartPre=-/usr/bin/truetps prealloc trim /var/lib/mysql/binlog\n"),
            "{text}"
        );
        assert!(
            drop_in_text(&preload, Path::new("/a b/lib.so"), Path::new("/usr/bin/truetps"))
                .is_err()
        );
    }

    #[test]
    fn names_of_services() {
        assert_eq!(service("mysql.service").ok().as_deref(), Some("mysql"));
        for wrong in ["", "../x", "a/b", ".x", "a b"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
        assert!(mode("0").is_err() && mode("fast").is_err());
        assert_eq!(mode("10").ok(), Some(PreallocMode::Pool(10)));
    }
}
