//! The requests of scripts to their runtime.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::LuaString;

use super::context::{self, Context};
use crate::sql::{Answer, RequestProgress, Store};

/// The client has to request it by its coroutine.
pub(super) const NOT_SENT: i32 = 0;
/// The statement was sent, and is not answered yet: [`ScriptRequest::Late`].
pub(super) const LATE: i32 = -1;

/// Answers to the request of the next event.
pub(crate) const STOP: i32 = 0;
pub(crate) const GO: i32 = 1;
/// The caller has to yield first.
pub(crate) const LATER: i32 = 2;

/// The first value that a client's coroutine yields: numbers that no script yields by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum ScriptRequest {
    /// The procedure has ended; the next value is 1 if it succeeded.
    Ended = Self::FIRST,
    Connect,
    Reconnect,
    Query,
    Prepare,
    PrepareBound,
    Execute,
    NextResult,
    Flush,
    NextEvent,
    /// The client is prepared for events.
    Ready,
    /// The answer to the statement that a C function has sent on this connection.
    Late,
}

impl ScriptRequest {
    pub(crate) const FIRST: i32 = 0x7ee7_0000;
    pub(crate) const LAST: i32 = Self::Late as i32;

    /// Names in the prelude.
    pub(crate) const ALL: [(&'static str, Self); 12] = [
        ("ENDED", Self::Ended),
        ("CONNECT", Self::Connect),
        ("RECONNECT", Self::Reconnect),
        ("QUERY", Self::Query),
        ("PREPARE", Self::Prepare),
        ("PREPARE_BOUND", Self::PrepareBound),
        ("EXECUTE", Self::Execute),
        ("NEXT_RESULT", Self::NextResult),
        ("FLUSH", Self::Flush),
        ("NEXT_EVENT", Self::NextEvent),
        ("READY", Self::Ready),
        ("LATE", Self::Late),
    ];

    pub(crate) fn from_number(number: i32) -> Option<Self> {
        let index = usize::try_from(number.checked_sub(Self::FIRST)?).ok()?;
        Self::ALL.get(index).map(|(_, request)| *request)
    }
}

/// Begins a client's database request. Returns its connection and progress; `None`: the request is
/// about something else.
pub(crate) fn begin_request(
    store: &mut Store,
    request: ScriptRequest,
    handle: u32,
    text: Option<&LuaString>,
    tid: u32,
) -> Option<(u32, RequestProgress)> {
    let bytes = text.map(LuaString::as_bytes);
    let text: &[u8] = bytes.as_deref().unwrap_or_default();
    Some(match request {
        ScriptRequest::Connect => store.connect(handle, tid),
        ScriptRequest::Reconnect => (handle, store.reconnect(handle)),
        ScriptRequest::Query => (handle, store.query(handle, text)),
        ScriptRequest::Prepare => (handle, store.prepare(handle, text)),
        ScriptRequest::PrepareBound => (store.connection_of(handle), store.prepare_bound(handle)),
        ScriptRequest::Execute => (store.connection_of(handle), store.execute(handle)),
        ScriptRequest::NextResult => (handle, store.next_result(handle)),
        ScriptRequest::Flush => (handle, store.flush(handle)),
        ScriptRequest::Late => (handle, RequestProgress::Wait),
        ScriptRequest::Ended | ScriptRequest::NextEvent | ScriptRequest::Ready => return None,
    })
}

/// Sends a statement and waits for its answer, for a client that has its thread to itself: without
/// a detour through its coroutine, since LuaJIT compiles the call of a C function, but not what
/// yields. Returns the code of the answer, [`NOT_SENT`] or [`LATE`].
pub(super) fn answer_soon(
    context: &Context,
    send: impl FnOnce(&mut Store) -> (u32, RequestProgress),
) -> i32 {
    // A finaliser may run while it is in use.
    let own = context.own_store.as_ref().and_then(|store| store.try_borrow_mut().ok());
    let Some(mut store) = own.filter(|_| !context.run.control.is_abandoned()) else {
        return NOT_SENT;
    };
    store.release_forgotten();
    let (connection, mut step) = send(&mut store);
    if step == RequestProgress::Wait {
        step = store.wait_a_while(connection);
    }
    match step {
        RequestProgress::Done(answer) => answer.code,
        RequestProgress::Wait => LATE,
    }
}

/// Answers a request while the whole thread waits: for callers that cannot yield.
pub(crate) fn answer_now(
    store: &Rc<RefCell<Store>>,
    what: i32,
    handle: u32,
    text: Option<&LuaString>,
) -> Answer {
    let tid = context::with(|context| context.tid).unwrap_or(0);
    let Some(request) = ScriptRequest::from_number(what) else { return Answer::MISUSE };
    let Ok(mut store) = store.try_borrow_mut() else { return Answer::MISUSE };
    let Some((connection, mut step)) = begin_request(&mut store, request, handle, text, tid) else {
        return Answer::of(STOP);
    };
    loop {
        match step {
            RequestProgress::Done(answer) => return answer,
            RequestProgress::Wait if store.gives_up() => return Answer::MISUSE,
            RequestProgress::Wait => step = store.wait_a_while(connection),
        }
    }
}
