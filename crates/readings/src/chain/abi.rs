//! Reads the arguments of calldata by a signature, when the calldata is exactly their encoding.
//!
//! A selector has only four bytes, so signatures collide, and spammers register signatures for it.
//! A signature is proved only when the calldata is the one canonical encoding of the arguments that
//! it reads. That means offsets in order, without gaps or sharing, clean padding, and the same
//! bytes when the arguments are encoded again.

mod canonical;
mod declaration;
mod render;

use alloy_dyn_abi::{DynSolType, DynSolValue, Specifier};
use alloy_json_abi::Param;
use alloy_primitives::Selector;

pub use self::render::{Argument, Budget};
use super::text::identifier;

/// The largest calldata that is read, in bytes.
pub const MAX_CALLDATA: usize = 256 * 1024;
/// The longest signature that is parsed.
const MAX_SIGNATURE_CHARS: usize = 1024;
/// The most parameters, in all levels together.
const MAX_PARAMETERS: usize = 128;
/// The deepest nesting of tuples and arrays.
const MAX_DEPTH: usize = 8;
/// The longest array of a fixed length, and the most words of a type's fixed-size part.
const MAX_FIXED_WORDS: usize = 4096;

/// A function's declaration: its name and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    name: String,
    text: String,
    selector: Selector,
    parameters: Vec<(Option<String>, DynSolType)>,
    members: Vec<Param>,
}

/// The decoded arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The arguments in order.
    pub values: Vec<DynSolValue>,
    /// How many bytes follow the encoding. Zero when the calldata is exact.
    pub trailing: usize,
}

impl Signature {
    /// Reads `transfer(address,uint256)` or `transfer(address to, uint256 amount)`. `None` for a
    /// malformed text, or for one beyond the bounds.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_SIGNATURE_CHARS {
            return None;
        }
        let (name, inputs) = declaration::parse(text)?;
        Self::declared(name, &inputs)
    }

    /// Makes the signature of a function or an error from a contract's interface. `None` beyond the
    /// bounds.
    #[must_use]
    pub fn declared(name: &str, inputs: &[Param]) -> Option<Self> {
        let name = identifier(name)?.to_owned();
        let mut left = MAX_PARAMETERS;
        within_bounds(inputs, 0, &mut left)?;
        let read = |input: &Param| {
            let ty = input.resolve().ok()?;
            let label = identifier(&input.name).map(str::to_owned);
            (words(&ty)? <= MAX_FIXED_WORDS).then_some((label, ty))
        };
        let parameters = inputs.iter().map(read).collect::<Option<Vec<_>>>()?;
        let types: Vec<String> = parameters
            .iter()
            .map(|(_, ty)| declaration::type_name(ty))
            .collect();
        let text = format!("{name}({})", types.join(","));
        let hash = alloy_primitives::keccak256(text.as_bytes());
        Some(Self {
            selector: Selector::from_slice(hash.get(..4)?),
            name,
            text,
            parameters,
            members: inputs.to_vec(),
        })
    }

    /// The name without the parameters.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The canonical text, whose hash gives the selector: `transfer(address,uint256)`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The selector: the first four bytes of calldata.
    #[must_use]
    pub fn selector(&self) -> Selector {
        self.selector
    }

    /// Decodes the arguments of `data`, which includes the selector, if it begins with their
    /// canonical encoding. Counts the bytes after it.
    #[must_use]
    pub fn decode(&self, data: &[u8]) -> Option<Decoded> {
        let body = data.strip_prefix(self.selector.as_slice())?;
        if data.len() > MAX_CALLDATA {
            return None;
        }
        let types: Vec<&DynSolType> = self.parameters.iter().map(|(_, ty)| ty).collect();
        let length = canonical::length(&types, body)?;
        let encoding = body.get(..length)?;
        let trailing = body.len().saturating_sub(length);
        if types.is_empty() {
            return Some(Decoded {
                values: Vec::new(),
                trailing,
            });
        }
        let tuple = DynSolType::Tuple(types.into_iter().cloned().collect());
        let value = tuple.abi_decode_params(encoding).ok()?;
        if value.abi_encode_params() != encoding {
            return None;
        }
        let DynSolValue::Tuple(values) = value else {
            return None;
        };
        Some(Decoded { values, trailing })
    }

    /// Returns the arguments in the form of an answer, within `budget`.
    #[must_use]
    pub fn arguments(&self, values: &[DynSolValue], budget: &mut Budget) -> Vec<Argument> {
        let named = self.parameters.iter().zip(&self.members).zip(values);
        named
            .map(|(((name, ty), member), value)| Argument {
                name: name.clone(),
                ty: declaration::type_name(ty),
                value: render::value(value, Some(member), budget),
            })
            .collect()
    }
}

/// Whether the number and nesting of the parameters are within the bounds.
fn within_bounds(inputs: &[Param], depth: usize, left: &mut usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    for input in inputs {
        *left = left.checked_sub(1)?;
        let brackets = input.ty.bytes().filter(|byte| *byte == b'[').count();
        if input.ty.len() > 128 || brackets.saturating_add(depth) > MAX_DEPTH {
            return None;
        }
        within_bounds(&input.components, depth.saturating_add(1), left)?;
    }
    Some(())
}

/// Returns the least number of words of a type, with its own head. `None` for a type without a
/// word, because data of any length could have any number of such elements.
fn words(ty: &DynSolType) -> Option<usize> {
    match ty {
        DynSolType::Array(inner) => words(inner).map(|_| 2),
        DynSolType::FixedArray(inner, length) => {
            let length = (*length > 0).then_some(*length)?;
            words(inner)?
                .checked_mul(length)
                .filter(|words| *words <= MAX_FIXED_WORDS)
        }
        DynSolType::Tuple(members) => {
            let sum = members
                .iter()
                .try_fold(0_usize, |sum, member| sum.checked_add(words(member)?))?;
            (1..=MAX_FIXED_WORDS).contains(&sum).then_some(sum)
        }
        DynSolType::Bytes | DynSolType::String => Some(2),
        _ => Some(1),
    }
}

#[cfg(test)]
mod tests;
