//! The Lua states that scripts run in.

mod context;
mod declared;
mod failure;
mod released;
mod request;
mod script;
mod shapes;
mod sources;
mod state;
mod symbols;
mod tokens;
mod words;

pub(crate) use context::{Context, EventTurn, enter};
pub(crate) use failure::{ProcedureFailure, lua_error_text};
pub(crate) use released::{Released, has_released, next_store, take_released};
pub(crate) use request::{GO, LATER, STOP, ScriptRequest, begin_request};
pub(crate) use script::{LuaScript, ScriptSource, find, package_cpath, package_path};
pub(crate) use shapes::{
    BindShape, ConnectionShape, DriverShape, LuaStructure, ResultShape, Shapes, StatementShape,
};
pub(crate) use sources::LoadedSources;
pub(crate) use state::{IsolationReason, LuaState, Role};
