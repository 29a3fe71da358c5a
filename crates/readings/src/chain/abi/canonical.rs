//! The canonical layout of encoded arguments. Each byte is visited only once, so small calldata
//! cannot describe a huge value.

use alloy_dyn_abi::DynSolType;

const WORD: usize = 32;

/// Returns the length of the canonical encoding of `types` at the beginning of `data`. `None` when
/// `data` does not begin with one.
pub(super) fn length(types: &[&DynSolType], data: &[u8]) -> Option<usize> {
    sequence(types.iter().copied(), types.len(), data)
}

/// Reads the heads, and then the tails in the order of the heads, without gaps. Returns the length
/// of both.
fn sequence<'t>(
    types: impl Iterator<Item = &'t DynSolType> + Clone,
    count: usize,
    data: &[u8],
) -> Option<usize> {
    let mut heads = 0_usize;
    for ty in types.clone() {
        heads = heads.checked_add(head_length(ty)?)?;
        if heads > data.len() {
            return None;
        }
    }
    debug_assert!(count == 0 || heads > 0);
    let (mut at, mut tail) = (0_usize, heads);
    for ty in types {
        if ty.is_dynamic() {
            if number(data.get(at..)?)? != tail {
                return None;
            }
            tail = tail.checked_add(dynamic(ty, data.get(tail..)?)?)?;
        } else {
            fixed(ty, data.get(at..)?)?;
        }
        at = at.checked_add(head_length(ty)?)?;
    }
    Some(tail)
}

/// Returns the length of a dynamic type's tail.
fn dynamic(ty: &DynSolType, data: &[u8]) -> Option<usize> {
    match ty {
        DynSolType::Bytes | DynSolType::String => {
            let length = number(data)?;
            let padded = length.checked_next_multiple_of(WORD)?;
            let body = data.get(WORD..WORD.checked_add(padded)?)?;
            zeros(body.get(length..)?)?;
            WORD.checked_add(padded)
        }
        DynSolType::Array(inner) => {
            let count = number(data)?;
            let rest = data.get(WORD..)?;
            // Every element takes at least one word.
            if count > rest.len() / WORD {
                return None;
            }
            let elements = std::iter::repeat_n(&**inner, count);
            WORD.checked_add(sequence(elements, count, rest)?)
        }
        DynSolType::FixedArray(inner, count) => {
            sequence(std::iter::repeat_n(&**inner, *count), *count, data)
        }
        DynSolType::Tuple(members) => sequence(members.iter(), members.len(), data),
        _ => None,
    }
}

/// Checks the padding of a type without a tail.
fn fixed(ty: &DynSolType, data: &[u8]) -> Option<()> {
    match ty {
        DynSolType::FixedArray(inner, count) => inline(std::iter::repeat_n(&**inner, *count), data),
        DynSolType::Tuple(members) => inline(members.iter(), data),
        _ => word(ty, data.get(..WORD)?),
    }
}

fn inline<'t>(types: impl Iterator<Item = &'t DynSolType>, data: &[u8]) -> Option<()> {
    let mut at = 0_usize;
    for ty in types {
        fixed(ty, data.get(at..)?)?;
        at = at.checked_add(head_length(ty)?)?;
    }
    Some(())
}

fn word(ty: &DynSolType, word: &[u8]) -> Option<()> {
    match ty {
        DynSolType::Bool => {
            zeros(word.get(..31)?)?;
            (*word.get(31)? <= 1).then_some(())
        }
        DynSolType::Uint(bits) => zeros(word.get(..WORD.checked_sub(bits / 8)?)?),
        DynSolType::Int(bits) => {
            let start = WORD.checked_sub(bits / 8)?;
            let negative = word.get(start)? & 0x80 != 0;
            let fill = if negative { 0xff } else { 0 };
            word.get(..start)?
                .iter()
                .all(|byte| *byte == fill)
                .then_some(())
        }
        DynSolType::FixedBytes(size) => zeros(word.get(*size..)?),
        DynSolType::Function => zeros(word.get(24..)?),
        DynSolType::Address => zeros(word.get(..12)?),
        _ => None,
    }
}

/// Returns the length of a type's head, in bytes.
fn head_length(ty: &DynSolType) -> Option<usize> {
    if ty.is_dynamic() {
        return Some(WORD);
    }
    match ty {
        DynSolType::FixedArray(inner, count) => head_length(inner)?.checked_mul(*count),
        DynSolType::Tuple(members) => members
            .iter()
            .try_fold(0_usize, |sum, member| sum.checked_add(head_length(member)?)),
        _ => Some(WORD),
    }
}

/// Reads a length or an offset. `None` when no data can be that long.
fn number(data: &[u8]) -> Option<usize> {
    let word = data.get(..WORD)?;
    zeros(word.get(..28)?)?;
    let low: [u8; 4] = word.get(28..)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(low)).ok()
}

fn zeros(bytes: &[u8]) -> Option<()> {
    bytes.iter().all(|byte| *byte == 0).then_some(())
}
