//! The failures of scripts, as users see them.

/// How a procedure of a client ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcedureFailure {
    /// Name of the script's function that failed; empty: the script's body.
    pub(crate) function: String,
    pub(crate) problem: String,
    /// The user's signal ended it.
    pub(crate) is_interruption: bool,
}

impl ProcedureFailure {
    pub(crate) fn new(function: &str, problem: impl Into<String>) -> Self {
        Self { function: function.to_owned(), problem: problem.into(), is_interruption: false }
    }

    pub(crate) fn interruption() -> Self {
        Self { is_interruption: true, ..Self::new("", "interrupted") }
    }

    /// The message for it.
    pub(crate) fn line(&self) -> String {
        let Self { function, problem, .. } = self;
        // LuaJIT converts the arguments of C functions before the call, and does not convert text
        // to numbers.
        let is_text_for_number = problem.contains("(cannot convert 'string' to '");
        let hint = if is_text_for_number {
            "; a C function takes no text as a number: use tonumber()"
        } else {
            ""
        };
        let named = if function.is_empty() {
            String::new()
        } else {
            format!("`{function}' function failed: ")
        };
        format!("{named}{problem}{hint}")
    }
}

/// A Lua error as sysbench prints it: only the message, without a traceback.
pub(crate) fn lua_error_text(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text)
        | mlua::Error::MemoryError(text)
        | mlua::Error::SyntaxError { message: text, .. } => {
            text.split("\nstack traceback:").next().unwrap_or_default().to_owned()
        }
        mlua::Error::CallbackError { cause, .. } => lua_error_text(cause),
        other => other.to_string(),
    }
}
