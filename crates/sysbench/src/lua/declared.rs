//! Options that a script declares: `sysbench.cmdline.options`.

use mlua::{LuaString, Table};

use crate::options::{OptionSpec, OptionType};

/// Reads the list that `cmdline.lua` makes from the script's table.
pub(crate) fn read_declared(list: &Table) -> mlua::Result<Vec<OptionSpec>> {
    let mut options = Vec::new();
    for entry in list.sequence_values::<Table>() {
        let entry = entry?;
        let kind = OptionType::from_number(entry.get("kind")?).unwrap_or(OptionType::String);
        options.push(OptionSpec {
            name: text_bytes(&entry.get("name")?),
            description: text_bytes(&entry.get("description")?),
            default: entry.get::<Option<LuaString>>("default")?.as_ref().map(text_bytes),
            kind,
        });
    }
    Ok(options)
}

fn text_bytes(text: &LuaString) -> Vec<u8> {
    text.as_bytes().to_vec()
}
