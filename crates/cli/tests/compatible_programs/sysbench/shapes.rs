//! Statements without their values, so that statements of two runs can be counted together.

use std::collections::BTreeMap;

/// How often each shape of a statement came.
pub(crate) type Shapes = BTreeMap<String, usize>;

/// `kind` is how it came: as text, prepared, executed.
pub(crate) fn add(shapes: &mut Shapes, kind: &str, sql: &str) {
    *shapes.entry(format!("{kind}: {}", shape(sql))).or_default() += 1;
}

/// Numbers and strings as `?`, parameters too, white space as one space, and rows of one INSERT as
/// one row.
fn shape(sql: &str) -> String {
    let mut out = String::new();
    let mut chars = sql.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                while chars.next().is_some_and(|next| next != '\'') {}
                out.push('?');
            }
            _ if c.is_ascii_digit() => {
                while chars.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
                let _ =
                    out.pop().filter(|sign| !matches!(sign, '-' | '$')).map(|kept| out.push(kept));
                out.push('?');
            }
            _ if c.is_whitespace() => {
                while chars.next_if(|next| next.is_whitespace()).is_some() {}
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    one_row(&out)
}

/// `(?, ?),(?, ?)` as `(?, ?)`.
fn one_row(sql: &str) -> String {
    let Some(open) = sql.rfind('(') else { return sql.to_owned() };
    let (before, row) = sql.split_at(open);
    if !row.ends_with(')') {
        return sql.to_owned();
    }
    let mut kept = before;
    while let Some(shorter) =
        kept.trim_end().strip_suffix(',').and_then(|rest| rest.trim_end().strip_suffix(row))
    {
        kept = shorter;
    }
    format!("{kept}{row}")
}

#[test]
fn values_and_rows_are_left_out() {
    for (sql, expected) in [
        ("SELECT c FROM sbtest12 WHERE id=$1", "SELECT c FROM sbtest? WHERE id=?"),
        (
            "INSERT INTO t(a)  VALUES(1, 'x-1'),(22, 'y'),(3,\n'z')",
            "INSERT INTO t(a) VALUES(?, ?),(?, ?),(?, ?)",
        ),
        ("INSERT INTO t VALUES(1,'a'), (2,'b'),(-3,'c')", "INSERT INTO t VALUES(?,?)"),
        ("BEGIN", "BEGIN"),
    ] {
        let expected = one_row(expected);
        assert_eq!(shape(sql), expected, "{sql}");
    }
}
