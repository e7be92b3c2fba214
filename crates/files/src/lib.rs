//! Files of users, and how truetps's own files are opened and replaced.
//!
//! - Read with a limit of their length: `text_file`; option files with the files that they include
//!   (`option_walk`, for settings and logins; `option_line` is one of their lines, `group_lines`
//!   and `plain_lines` read it as servers do); SQL scripts (`sql_script`).
//! - Opened where another user may have put links or pipes: `regular_file`; `open_folder`, which
//!   root enters with the rights of the folder's owner; `remove_tree`. `trusted_path`: what only
//!   root can change.
//! - Written: `atomic_file` replaces a file of truetps whole; `named_file` writes a file that a
//!   user has named, as a shell does.
//!
//! *Invariant:* no clock and no network.

mod atomic_file;
mod group_lines;
mod named_file;
mod open_folder;
mod option_file;
mod option_line;
mod option_walk;
mod plain_lines;
mod regular_file;
mod remove_tree;
mod sql_script;
mod text_file;
mod trusted_path;

pub use atomic_file::{sync_folder, write_atomically};
pub use named_file::write_named;
pub use open_folder::{OpenFolder, check_names};
pub use option_file::OptionStyle;
pub use option_line::OptionLine;
pub use option_walk::{OptionFileError, OptionReader, OptionVisitor, OptionWalk};
pub use regular_file::{open_no_link, open_regular, regular_file};
pub use remove_tree::remove_tree;
pub use sql_script::{SqlScriptError, created_table, first_word, split_sql};
pub use text_file::{TextError, read_bytes, read_text};
pub use trusted_path::{UntrustedPath, trusted_path};
