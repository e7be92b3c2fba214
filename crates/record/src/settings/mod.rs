//! Values of settings and their texts. `secret` lists the values that never leave a server.

pub(crate) mod amount;
pub(crate) mod secret;
pub(crate) mod setting_text;
pub(crate) mod setting_value;
