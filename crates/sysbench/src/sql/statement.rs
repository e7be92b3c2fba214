//! One prepared statement of a script.

use std::rc::Rc;

use truetps_driver::Params;

use super::bound::Binds;
use super::shapes::{LuaStructure, StatementShape};
use crate::command::{ShapeNumber, statement_kind};

pub(crate) struct ScriptStatement {
    pub(crate) connection: u32,
    pub(crate) shape: LuaStructure<StatementShape>,
    /// All connections of a state share the text of a statement.
    pub(crate) text: Rc<[u8]>,
    /// Place in the list of statement kinds.
    pub(crate) kind: usize,
    pub(crate) shape_number: ShapeNumber,
    /// Whether values are written into the text in place of `?`: the server prepares nothing.
    pub(crate) is_emulated: bool,
    /// The server's handle; `None`: it has to be prepared first.
    pub(crate) handle: Option<u32>,
    pub(crate) params: u16,
    pub(crate) binds: Binds,
    pub(crate) is_closed: bool,
}

impl ScriptStatement {
    pub(crate) fn new(
        connection: u32,
        shape: LuaStructure<StatementShape>,
        text: Rc<[u8]>,
        shape_number: ShapeNumber,
        is_emulated: bool,
    ) -> Self {
        Self {
            connection,
            shape,
            kind: statement_kind(&text),
            shape_number,
            text,
            is_emulated,
            handle: None,
            params: 0,
            binds: Binds::default(),
            is_closed: false,
        }
    }

    /// It is closed, or its connection is gone: only its handle is still needed.
    pub(crate) fn forget(&mut self) {
        (self.is_closed, self.handle) = (true, None);
        self.binds = Binds::default();
    }

    /// The text with the values in it: each `?` is a parameter, even inside quotes, as in sysbench.
    pub(crate) fn emulated(&self, out: &mut Vec<u8>) {
        let mut number = 0;
        for byte in self.text.iter() {
            if *byte == b'?' && number < self.binds.len() {
                self.binds.print(number, out);
                number += 1;
            } else {
                out.push(*byte);
            }
        }
    }

    /// The values for an execution; `false` if a parameter has none. Additional bound values are
    /// ignored.
    pub(crate) fn fill(&self, params: &mut Params) -> bool {
        let count = usize::from(self.params);
        self.binds.fill(count, params);
        self.binds.len() >= count
    }
}
