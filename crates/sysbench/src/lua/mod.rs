//! The Lua states that scripts run in.

mod context;
mod declared;
mod released;
mod request;
mod script;
mod shapes;
mod sources;
mod state;
mod symbols;
mod tokens;
mod words;

pub(crate) use context::{Context, Turn, enter};
pub(crate) use released::{Released, has_released, next_store, take_released};
pub(crate) use request::{Request, begin};
pub(crate) use script::{Script, Source, find, package_cpath, package_path};
pub(crate) use shapes::{BindShape, ConnectionShape, DriverShape, ResultShape, Shape, Shapes, StatementShape};
pub(crate) use sources::Sources;
pub(crate) use state::{Role, State, lua_error_text};
pub(crate) use symbols::{GO, LATER, STOP};
