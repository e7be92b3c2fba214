//! HTTP/1.1, as a client of a service that saves rows: one request at a time on a connection that
//! is kept open.
//!
//! - `url` reads an address, `template` compiles a request whose fields get the values of each row.
//! - `response` reads responses, cut anywhere, and skips their bodies.
//! - `session` is the [`Session`](crate::Session): a request is its statement, a response its
//!   reply. A status other than 2xx is an error whose number is the status.

mod response;
mod session;
mod template;
mod url;

pub use session::HttpSession;
pub use template::{HttpTarget, HttpTemplate, TemplateError};
pub use url::UrlError;
