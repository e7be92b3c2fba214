//! Values that a script has bound to a statement: they are in LuaJIT's memory, and are read at each
//! execution.
#![allow(
    unsafe_code,
    reason = "reads buffers that LuaJIT owns; `sql.lua` keeps them alive as long as the statement"
)]

use std::io::Write;

use truetps_driver::{ParamType, Params};

use super::shapes::BindShape;

const BIGINT: i32 = 4;
const DOUBLE: i32 = 6;

/// A value of one parameter, as it is at the moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum BoundValue<'a> {
    Null,
    Int(i64),
    Double(f64),
    Text(&'a [u8]),
}

/// The parameters of a statement.
#[derive(Clone, Default)]
pub(crate) struct Binds {
    shapes: Vec<BindShape>,
}

impl Binds {
    /// Copies the descriptions of `count` parameters.
    ///
    /// # Safety
    /// `address` points to an array of as many `sql_bind`, whose buffers do not move until the
    /// statement is closed, or bound again.
    pub(crate) unsafe fn read(address: usize, count: usize) -> Self {
        if address == 0 || count == 0 {
            return Self::default();
        }
        let first = std::ptr::with_exposed_provenance::<BindShape>(address);
        // SAFETY: guaranteed by the caller.
        Self { shapes: unsafe { std::slice::from_raw_parts(first, count) }.to_vec() }
    }

    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    pub(crate) fn types(&self) -> Vec<ParamType> {
        self.shapes.iter().map(BindShape::param_type).collect()
    }

    /// Replaces `params` by the current first `count` values.
    pub(crate) fn fill(&self, count: usize, params: &mut Params) {
        params.clear();
        for shape in self.shapes.iter().take(count) {
            match value(shape) {
                BoundValue::Int(value) => params.push_int(value),
                BoundValue::Double(value) if value.is_finite() => params.push_double(value),
                // SQL cannot express the other doubles.
                BoundValue::Null | BoundValue::Double(_) => params.push_null(),
                BoundValue::Text(text) => params.push_text(|out| out.extend_from_slice(text)),
            }
        }
    }

    /// Appends the value of parameter number `n` to an SQL text, as sysbench prints it: texts are
    /// quoted but not escaped.
    pub(crate) fn print(&self, n: usize, out: &mut Vec<u8>) {
        let printed = match self.shapes.get(n).map_or(BoundValue::Null, value) {
            BoundValue::Null => out.write_all(b"NULL"),
            BoundValue::Int(value) => write!(out, "{value}"),
            BoundValue::Double(value) => write!(out, "{value:.6}"),
            BoundValue::Text(text) => out
                .write_all(b"'")
                .and_then(|()| out.write_all(text))
                .and_then(|()| out.write_all(b"'")),
        };
        printed.expect("memory takes what is written");
    }
}

impl BindShape {
    fn param_type(&self) -> ParamType {
        match self.kind {
            BIGINT => ParamType::INT8,
            DOUBLE => ParamType::FLOAT8,
            _ => ParamType::VARCHAR,
        }
    }
}

fn value(shape: &BindShape) -> BoundValue<'_> {
    // SAFETY: of all four, the promise of `Binds::read`: `is_null` is a char, `length` an unsigned
    // long, the buffer an int64_t, a double, or `length_max` bytes, as `kind` says. LuaJIT aligns
    // its objects to 8 bytes.
    unsafe {
        if shape.is_null.is_null() || shape.buffer.is_null() || shape.is_null.read() != 0 {
            return BoundValue::Null;
        }
        match shape.kind {
            BIGINT => BoundValue::Int(shape.buffer.cast::<i64>().read_unaligned()),
            DOUBLE => BoundValue::Double(shape.buffer.cast::<f64>().read_unaligned()),
            _ if shape.length.is_null() => BoundValue::Null,
            _ => {
                let length = shape.length.read_unaligned().min(shape.length_max) as usize;
                BoundValue::Text(std::slice::from_raw_parts(shape.buffer, length))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_at_the_moment() {
        let mut int = [7_i64];
        let text = *b"it's\0";
        let (length, not_null, null) = ([9 as std::ffi::c_ulong], [0_u8], [1_u8]);
        let shapes = [
            BindShape {
                kind: BIGINT,
                buffer: int.as_ptr().cast(),
                length: length.as_ptr(),
                length_max: 8,
                is_null: not_null.as_ptr(),
            },
            BindShape {
                kind: 12,
                buffer: text.as_ptr(),
                length: length.as_ptr(),
                length_max: 4,
                is_null: not_null.as_ptr(),
            },
            BindShape {
                kind: DOUBLE,
                buffer: int.as_ptr().cast(),
                length: length.as_ptr(),
                length_max: 8,
                is_null: null.as_ptr(),
            },
        ];
        // SAFETY: the arrays live to the end of the test.
        let binds = unsafe { Binds::read(shapes.as_ptr().expose_provenance(), 3) };
        let print = || {
            let mut out = Vec::new();
            for n in 0..4 {
                binds.print(n, &mut out);
                out.push(b' ');
            }
            String::from_utf8(out).unwrap()
        };
        assert_eq!(print(), "7 'it's' NULL NULL ");
        int[0] = -1;
        std::hint::black_box(&int);
        assert_eq!(print(), "-1 'it's' NULL NULL ");
        let mut params = Params::default();
        binds.fill(3, &mut params);
        assert_eq!(binds.types(), [ParamType::INT8, ParamType::VARCHAR, ParamType::FLOAT8]);
    }
}
