//! A named server that runs until it is stopped: it outlives the truetps process that started it.
//!
//! It has one datadir, created from the template at its first start and kept. Its process is noted
//! with pid and start ticks, and looked up in /proc each time: a process belongs to the instance if
//! it has exactly that datadir as its argument.

mod end;
mod files;
mod finding;
mod handle;
mod note;
mod port;
mod start;

pub use end::Ended;
pub use finding::{DiskStatus, Status};
pub use handle::Instance;
pub use note::InstanceState;
pub use start::{DiskReady, InstanceOptions};
