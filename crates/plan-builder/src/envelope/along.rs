//! Compares a value with its JSON without writing it.
//!
//! A plan is mostly long strings. Writing a string looks at each byte that may need an escape. This
//! module looks at the text once: if every backslash and quote of the text is one that the
//! comparison expected, then no string has one that should have been escaped.

use std::fmt::{self, Display, Write};

use memchr::memchr_iter;
use serde::{
    Serialize, Serializer,
    ser::{self, Impossible},
};

/// Returns whether `serde_json` writes a value as exactly this text.
///
/// Returns `false` for forms that no envelope has: negative and floating-point numbers, maps, tuple
/// structs and tuple variants.
pub(super) fn is_written_as<T: Serialize>(value: &T, text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut along = Along {
        ahead: bytes,
        quotes: 0,
        backslashes: 0,
    };
    value.serialize(&mut along).is_ok()
        && along.ahead.is_empty()
        && along.quotes == many(b'"', bytes)
        && along.backslashes == few(b'\\', bytes)
        && !has_controls(bytes)
}

/// Returns whether a text has a character that JSON must escape.
fn has_controls(text: &[u8]) -> bool {
    // The loop has no early end, so that one instruction compares many bytes.
    let least = text.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    least < b' '
}

/// Counts a byte in a text: fast where it is frequent.
fn many(byte: u8, text: &[u8]) -> usize {
    memchr_iter(byte, text).count()
}

/// Counts a byte in a text: fast where it is rare.
fn few(byte: u8, text: &[u8]) -> usize {
    let mut found = 0;
    for _ in memchr_iter(byte, text) {
        found += 1;
    }
    found
}

/// A position in the text that is compared.
struct Along<'t> {
    ahead: &'t [u8],
    /// The number of quotes passed as JSON's marks: around strings, and in escapes.
    quotes: usize,
    backslashes: usize,
}

type Passed = Result<(), fmt::Error>;

impl Along<'_> {
    fn pass(&mut self, bytes: &[u8]) -> Passed {
        self.ahead = self.ahead.strip_prefix(bytes).ok_or(fmt::Error)?;
        Ok(())
    }

    fn pass_mark(&mut self, mark: u8) -> Passed {
        match self.ahead {
            [first, rest @ ..] if *first == mark => {
                self.ahead = rest;
                Ok(())
            }
            _ => Err(fmt::Error),
        }
    }

    fn pass_quote(&mut self) -> Passed {
        self.quotes += 1;
        self.pass_mark(b'"')
    }

    fn pass_string(&mut self, text: &str) -> Passed {
        if let Some((string, rest)) = self.ahead.split_at_checked(text.len() + 2)
            && let [b'"', plain @ .., b'"'] = string
            && plain == text.as_bytes()
        {
            self.ahead = rest;
            self.quotes += 2;
            return Ok(());
        }
        let escaped = serde_json::to_vec(text).map_err(|_| fmt::Error)?;
        self.quotes += many(b'"', &escaped);
        self.backslashes += few(b'\\', &escaped);
        self.pass(&escaped)
    }

    fn pass_name(&mut self, name: &str) -> Passed {
        self.pass_string(name)?;
        self.pass_mark(b':')
    }

    fn pass_number(&mut self, number: u64) -> Passed {
        let digits = self.ahead.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.ahead.split_at_checked(digits).ok_or(fmt::Error)?;
        let canonical = digits == b"0" || !digits.starts_with(b"0");
        let digits = str::from_utf8(digits).map_err(|_| fmt::Error)?;
        if !canonical || digits.parse() != Ok(number) {
            return Err(fmt::Error);
        }
        self.ahead = rest;
        Ok(())
    }
}

impl Write for Along<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.pass(text.as_bytes())
    }
}

impl<'a, 't> Serializer for &'a mut Along<'t> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Members<'a, 't>;
    type SerializeTuple = Members<'a, 't>;
    type SerializeTupleStruct = Impossible<(), fmt::Error>;
    type SerializeTupleVariant = Impossible<(), fmt::Error>;
    type SerializeMap = Impossible<(), fmt::Error>;
    type SerializeStruct = Members<'a, 't>;
    type SerializeStructVariant = Members<'a, 't>;

    fn serialize_bool(self, value: bool) -> Passed {
        self.pass(if value { b"true" } else { b"false" })
    }

    fn serialize_u8(self, value: u8) -> Passed {
        self.pass_number(value.into())
    }

    fn serialize_u16(self, value: u16) -> Passed {
        self.pass_number(value.into())
    }

    fn serialize_u32(self, value: u32) -> Passed {
        self.pass_number(value.into())
    }

    fn serialize_u64(self, value: u64) -> Passed {
        self.pass_number(value)
    }

    fn serialize_i8(self, value: i8) -> Passed {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Passed {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Passed {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Passed {
        self.pass_number(value.try_into().map_err(|_| fmt::Error)?)
    }

    fn serialize_f32(self, _: f32) -> Passed {
        Err(fmt::Error)
    }

    fn serialize_f64(self, _: f64) -> Passed {
        Err(fmt::Error)
    }

    fn serialize_char(self, value: char) -> Passed {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Passed {
        self.pass_string(value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Passed {
        self.pass_quote()?;
        write!(self, "{value}")?;
        self.pass_quote()
    }

    fn serialize_bytes(self, _: &[u8]) -> Passed {
        Err(fmt::Error)
    }

    fn serialize_none(self) -> Passed {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Passed {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Passed {
        self.pass(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Passed {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Passed {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Passed {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Passed {
        self.pass(b"{")?;
        self.pass_name(variant)?;
        value.serialize(&mut *self)?;
        self.pass(b"}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, fmt::Error> {
        Members::of(self, b'[', b"]")
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, fmt::Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, fmt::Error> {
        Members::of(self, b'{', b"}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, fmt::Error> {
        self.pass(b"{")?;
        self.pass_name(variant)?;
        Members::of(self, b'{', b"}}")
    }
}

/// A list or an object.
struct Members<'a, 't> {
    along: &'a mut Along<'t>,
    end: &'static [u8],
    is_first: bool,
}

impl<'a, 't> Members<'a, 't> {
    fn of(along: &'a mut Along<'t>, begin: u8, end: &'static [u8]) -> Result<Self, fmt::Error> {
        along.pass_mark(begin)?;
        Ok(Self {
            along,
            end,
            is_first: true,
        })
    }

    fn next(&mut self) -> Result<&mut Along<'t>, fmt::Error> {
        if !std::mem::take(&mut self.is_first) {
            self.along.pass_mark(b',')?;
        }
        Ok(self.along)
    }

    fn close(self) -> Passed {
        self.along.pass(self.end)
    }
}

impl ser::SerializeSeq for Members<'_, '_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Passed {
        value.serialize(self.next()?)
    }

    fn end(self) -> Passed {
        self.close()
    }
}

impl ser::SerializeTuple for Members<'_, '_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Passed {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Passed {
        self.close()
    }
}

impl ser::SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Passed {
        let along = self.next()?;
        along.pass_name(name)?;
        value.serialize(along)
    }

    fn end(self) -> Passed {
        self.close()
    }
}

impl ser::SerializeStructVariant for Members<'_, '_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Passed {
        ser::SerializeStruct::serialize_field(self, name, value)
    }

    fn end(self) -> Passed {
        self.close()
    }
}

#[cfg(test)]
mod tests;
