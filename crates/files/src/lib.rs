//! Files of users (option files, SQL scripts, texts of a limited length), and how truetps's own files are opened and
//! replaced.

mod atomic_file;
mod named_file;
mod option_file;
mod option_walk;
mod regular_file;
mod sql_script;
mod text_file;

pub use atomic_file::{sync_folder, write_atomically};
pub use named_file::write_named;
pub use option_file::{OptionLine, OptionStyle};
pub use option_walk::{OptionFileError, OptionReader, OptionVisitor, OptionWalk};
pub use regular_file::{open_no_link, open_regular, regular_file};
pub use sql_script::{SqlScriptError, created_table, first_word, split_sql};
pub use text_file::{TextError, read_text};
