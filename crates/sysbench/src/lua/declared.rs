//! Options that a script declares: `sysbench.cmdline.options`.

use mlua::{LuaString, Table};

use crate::options::{OptionSpec, OptionType};

/// Reads the list that `cmdline.lua` makes from the script's table.
pub(crate) fn read_declared(list: &Table) -> mlua::Result<Vec<OptionSpec>> {
    let mut options = Vec::new();
    for entry in list.sequence_values::<Table>() {
        let entry = entry?;
        let bytes = |text: LuaString| text.as_bytes().to_vec();
        let kind = OptionType::from_number(entry.get("kind")?).unwrap_or(OptionType::String);
        options.push(OptionSpec {
            name: bytes(entry.get("name")?),
            description: bytes(entry.get("description")?),
            default: entry.get::<Option<LuaString>>("default")?.map(bytes),
            kind,
        });
    }
    Ok(options)
}
