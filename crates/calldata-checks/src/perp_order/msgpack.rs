//! The strict msgpack codec of an order action: only the markers that an action uses, the smallest
//! encoding of every length and integer, keys in wire order, no nil, no trailing bytes. It reads
//! one known shape and never follows foreign nesting.

mod reader;

use self::reader::Reader;
use super::wire::{WireAction, WireOrder, WireOrderKind};

/// The longest action that is read, in bytes: some ten times the length of an entry with both
/// triggers.
pub const MAX_ACTION_BYTES: usize = 4096;
/// The longest text inside an action.
const MAX_TEXT_BYTES: usize = 64;

/// The reason why bytes are not the canonical msgpack of an order action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum MsgpackError {
    /// The bytes are longer than any action.
    #[error("{length} bytes where at most {MAX_ACTION_BYTES} are read")]
    TooLong {
        /// The number of bytes.
        length: usize,
    },
    /// The bytes end inside a value.
    #[error("the bytes end at {at}, inside {inside}")]
    Truncated {
        /// The position in the bytes.
        at: usize,
        /// The value that the bytes end in.
        inside: &'static str,
    },
    /// The position has another kind of value, nil included, or another number of members.
    #[error("marker {observed:#04x} at byte {at} where {expected} is expected")]
    Marker {
        /// The position in the bytes.
        at: usize,
        /// The expected marker.
        expected: &'static str,
        /// The observed byte.
        observed: u8,
    },
    /// A length or an integer is not in its shortest encoding.
    #[error("the value at byte {at} is not in its smallest encoding")]
    NotSmallest {
        /// The position in the bytes.
        at: usize,
    },
    /// The position has another key.
    #[error("another key at byte {at} where {expected:?} is expected")]
    Key {
        /// The position in the bytes.
        at: usize,
        /// The expected key.
        expected: &'static str,
    },
    /// A text is too long, or is not printable ASCII.
    #[error("the text at byte {at} is not printable ASCII of at most {MAX_TEXT_BYTES} bytes")]
    Text {
        /// The position in the bytes.
        at: usize,
    },
    /// Bytes follow the action.
    #[error("the action ends at byte {at} of {length}")]
    Trailing {
        /// The end of the action.
        at: usize,
        /// The number of bytes.
        length: usize,
    },
}

/// Decodes the bytes of one action.
///
/// # Errors
/// [`MsgpackError`]
///
/// # Example
/// ```
/// use calldata_checks::perp_order::msgpack::{self, MsgpackError};
///
/// let nil = msgpack::decode(&[0xc0]);
/// assert!(matches!(nil, Err(MsgpackError::Marker { at: 0, observed: 0xc0, .. })));
/// ```
pub fn decode(bytes: &[u8]) -> Result<WireAction, MsgpackError> {
    if bytes.len() > MAX_ACTION_BYTES {
        return Err(MsgpackError::TooLong {
            length: bytes.len(),
        });
    }
    let mut reader = Reader { bytes, at: 0 };
    let action = reader.action()?;
    if reader.at != bytes.len() {
        return Err(MsgpackError::Trailing {
            at: reader.at,
            length: bytes.len(),
        });
    }
    Ok(action)
}

/// Encodes an action as canonical msgpack. `None` for an action that [`decode`] would refuse: a
/// text or a list is too long.
///
/// # Example
/// ```
/// use alloy_primitives::hex;
/// use calldata_checks::perp_order::msgpack;
///
/// let bytes = hex!("83a474797065a56f72646572a66f72646572739186a16100a162c3a170a6313233343536a173
///     a7302e3030313233a172c2a17481a56c696d697481a3746966a3477463a867726f7570696e67
///     a26e61");
/// let action = msgpack::decode(&bytes)?;
/// assert_eq!(msgpack::encode(&action).as_deref(), Some(&bytes[..]));
/// # Ok::<(), msgpack::MsgpackError>(())
/// ```
#[must_use]
pub fn encode(action: &WireAction) -> Option<Vec<u8>> {
    let mut out = Writer(Vec::with_capacity(256));
    out.0
        .push(if action.builder.is_some() { 0x84 } else { 0x83 });
    out.text("type")?;
    out.text(&action.kind)?;
    out.text("orders")?;
    let count = u8::try_from(action.orders.len())
        .ok()
        .filter(|n| (1..=15).contains(n))?;
    out.0.push(0x90 | count);
    for order in &action.orders {
        out.order(order)?;
    }
    out.text("grouping")?;
    out.text(&action.grouping)?;
    if let Some(builder) = &action.builder {
        out.text("builder")?;
        out.0.push(0x82);
        out.text("b")?;
        out.text(&builder.address)?;
        out.text("f")?;
        out.integer(builder.fee);
    }
    Some(out.0)
}

struct Writer(Vec<u8>);

impl Writer {
    fn order(&mut self, order: &WireOrder) -> Option<()> {
        self.0.push(if order.cloid.is_some() { 0x87 } else { 0x86 });
        self.text("a")?;
        self.integer(order.asset);
        self.text("b")?;
        self.boolean(order.is_buy);
        self.text("p")?;
        self.text(&order.price)?;
        self.text("s")?;
        self.text(&order.size)?;
        self.text("r")?;
        self.boolean(order.reduce_only);
        self.text("t")?;
        self.0.push(0x81);
        match &order.kind {
            WireOrderKind::Limit { tif } => {
                self.text("limit")?;
                self.0.push(0x81);
                self.text("tif")?;
                self.text(tif)?;
            }
            WireOrderKind::Trigger {
                is_market,
                trigger_price,
                tpsl,
            } => {
                self.text("trigger")?;
                self.0.push(0x83);
                self.text("isMarket")?;
                self.boolean(*is_market);
                self.text("triggerPx")?;
                self.text(trigger_price)?;
                self.text("tpsl")?;
                self.text(tpsl)?;
            }
        }
        if let Some(cloid) = &order.cloid {
            self.text("c")?;
            self.text(cloid)?;
        }
        Some(())
    }

    fn boolean(&mut self, value: bool) {
        self.0.push(if value { 0xc3 } else { 0xc2 });
    }

    fn integer(&mut self, value: u32) {
        let [a, b, c, d] = value.to_be_bytes();
        match value {
            0..0x80 => self.0.push(d),
            0x80..0x100 => self.0.extend([0xcc, d]),
            0x100..0x1_0000 => self.0.extend([0xcd, c, d]),
            _ => self.0.extend([0xce, a, b, c, d]),
        }
    }

    fn text(&mut self, text: &str) -> Option<()> {
        let length = u8::try_from(text.len())
            .ok()
            .filter(|n| usize::from(*n) <= MAX_TEXT_BYTES)?;
        if length < 32 {
            self.0.push(0xa0 | length);
        } else {
            self.0.extend([0xd9, length]);
        }
        self.0.extend(text.bytes());
        Some(())
    }
}
