//! Reads the bytes of one action, member by member. Each function reads one known member, so
//! foreign nesting is never followed.

use super::{MAX_TEXT_BYTES, MsgpackError};
use crate::perp_order::wire::{WireAction, WireBuilder, WireOrder, WireOrderKind};

/// The bytes, and the number of bytes that have been read.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn action(&mut self) -> Result<WireAction, MsgpackError> {
        let members = self.short(0x80, 3..=4, "a map of 3 or 4 members")?;
        self.key("type")?;
        let kind = self.text()?;
        self.key("orders")?;
        let count = self.short(0x90, 1..=15, "an array of 1 to 15 orders")?;
        let orders = (0..count).map(|_| self.order()).collect::<Result<_, _>>()?;
        self.key("grouping")?;
        let grouping = self.text()?;
        let builder = if members == 4 {
            self.key("builder")?;
            Some(self.builder()?)
        } else {
            None
        };
        Ok(WireAction {
            kind,
            orders,
            grouping,
            builder,
        })
    }

    fn order(&mut self) -> Result<WireOrder, MsgpackError> {
        let members = self.short(0x80, 6..=7, "a map of 6 or 7 members")?;
        self.key("a")?;
        let asset = self.integer()?;
        self.key("b")?;
        let is_buy = self.boolean()?;
        self.key("p")?;
        let price = self.text()?;
        self.key("s")?;
        let size = self.text()?;
        self.key("r")?;
        let reduce_only = self.boolean()?;
        self.key("t")?;
        let kind = self.order_kind()?;
        let cloid = if members == 7 {
            self.key("c")?;
            Some(self.text()?)
        } else {
            None
        };
        Ok(WireOrder {
            asset,
            is_buy,
            price,
            size,
            reduce_only,
            kind,
            cloid,
        })
    }

    fn order_kind(&mut self) -> Result<WireOrderKind, MsgpackError> {
        self.short(0x80, 1..=1, "a map of 1 member")?;
        let at = self.at;
        match self.text_bytes()? {
            b"limit" => {
                self.short(0x80, 1..=1, "a map of 1 member")?;
                self.key("tif")?;
                Ok(WireOrderKind::Limit { tif: self.text()? })
            }
            b"trigger" => {
                self.short(0x80, 3..=3, "a map of 3 members")?;
                self.key("isMarket")?;
                let is_market = self.boolean()?;
                self.key("triggerPx")?;
                let trigger_price = self.text()?;
                self.key("tpsl")?;
                let tpsl = self.text()?;
                Ok(WireOrderKind::Trigger {
                    is_market,
                    trigger_price,
                    tpsl,
                })
            }
            _ => Err(MsgpackError::Key {
                at,
                expected: "limit or trigger",
            }),
        }
    }

    fn builder(&mut self) -> Result<WireBuilder, MsgpackError> {
        self.short(0x80, 2..=2, "a map of 2 members")?;
        self.key("b")?;
        let address = self.text()?;
        self.key("f")?;
        let fee = self.integer()?;
        Ok(WireBuilder { address, fee })
    }

    /// Reads a map (`0x80`) or an array (`0x90`) whose length is in its marker.
    fn short(
        &mut self,
        marker: u8,
        lengths: std::ops::RangeInclusive<u8>,
        expected: &'static str,
    ) -> Result<u8, MsgpackError> {
        let at = self.at;
        let observed = self.byte(expected)?;
        match observed.checked_sub(marker) {
            Some(length) if lengths.contains(&length) => Ok(length),
            _ => Err(MsgpackError::Marker {
                at,
                expected,
                observed,
            }),
        }
    }

    fn key(&mut self, expected: &'static str) -> Result<(), MsgpackError> {
        let at = self.at;
        if self.text_bytes()? == expected.as_bytes() {
            Ok(())
        } else {
            Err(MsgpackError::Key { at, expected })
        }
    }

    fn boolean(&mut self) -> Result<bool, MsgpackError> {
        let at = self.at;
        match self.byte("a boolean")? {
            0xc2 => Ok(false),
            0xc3 => Ok(true),
            observed => Err(MsgpackError::Marker {
                at,
                expected: "a boolean",
                observed,
            }),
        }
    }

    fn integer(&mut self) -> Result<u32, MsgpackError> {
        const WHAT: &str = "an integer below 2^32";
        let at = self.at;
        let (value, least) = match self.byte(WHAT)? {
            small @ 0x00..=0x7f => (u32::from(small), 0),
            0xcc => (u32::from(u8::from_be_bytes(self.array(WHAT)?)), 0x80),
            0xcd => (u32::from(u16::from_be_bytes(self.array(WHAT)?)), 0x100),
            0xce => (u32::from_be_bytes(self.array(WHAT)?), 0x1_0000),
            observed => {
                return Err(MsgpackError::Marker {
                    at,
                    expected: WHAT,
                    observed,
                });
            }
        };
        if value < least {
            return Err(MsgpackError::NotSmallest { at });
        }
        Ok(value)
    }

    fn text(&mut self) -> Result<String, MsgpackError> {
        let at = self.at;
        let bytes = self.text_bytes()?;
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(text.to_owned()),
            _ => Err(MsgpackError::Text { at }),
        }
    }

    fn text_bytes(&mut self) -> Result<&'a [u8], MsgpackError> {
        const WHAT: &str = "text";
        let at = self.at;
        let length = match self.byte(WHAT)? {
            marker @ 0xa0..=0xbf => marker & 0x1f,
            0xd9 => match self.byte(WHAT)? {
                0..32 => return Err(MsgpackError::NotSmallest { at }),
                length => length,
            },
            observed => {
                return Err(MsgpackError::Marker {
                    at,
                    expected: WHAT,
                    observed,
                });
            }
        };
        let length = usize::from(length);
        if length > MAX_TEXT_BYTES {
            return Err(MsgpackError::Text { at });
        }
        self.take(length, WHAT)
    }

    fn byte(&mut self, inside: &'static str) -> Result<u8, MsgpackError> {
        self.array::<1>(inside).map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self, inside: &'static str) -> Result<[u8; N], MsgpackError> {
        let taken = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<N>);
        let taken = taken.ok_or(MsgpackError::Truncated {
            at: self.bytes.len(),
            inside,
        })?;
        self.at += N;
        Ok(*taken)
    }

    fn take(&mut self, length: usize, inside: &'static str) -> Result<&'a [u8], MsgpackError> {
        let taken = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.get(..length));
        let taken = taken.ok_or(MsgpackError::Truncated {
            at: self.bytes.len(),
            inside,
        })?;
        self.at += length;
        Ok(taken)
    }
}
