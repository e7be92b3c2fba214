//! Files of users (option files, SQL scripts, texts of a limited length), and how truetps's own files are opened and
//! replaced.

mod atomic_file;
mod group_lines;
mod named_file;
mod open_folder;
mod option_file;
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
pub use option_file::{OptionLine, OptionStyle};
pub use option_walk::{OptionFileError, OptionReader, OptionVisitor, OptionWalk};
pub use regular_file::{open_no_link, open_regular, regular_file};
pub use remove_tree::remove_tree;
pub use sql_script::{SqlScriptError, created_table, first_word, split_sql};
pub use text_file::{TextError, read_bytes, read_text};
pub use trusted_path::{UntrustedPath, trusted_path};
