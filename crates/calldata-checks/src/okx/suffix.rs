//! Fees that OKX's router reads from the **end** of its calldata, wherever the arguments end.
//!
//! The public router source reads the last 32-byte words. A commission (`3ca20afc2aaa…` and five
//! relatives) pays a third party; a commission on the input token even adds to the swapped amount.
//! A trim (`777777771111…`, `777777772222…`) keeps a share of the output above an expected amount.
//! No argument binds them, so this module reads them exactly as the router does, over the whole
//! calldata.

use alloy_primitives::{Address, U256};

use super::Refusal;

const WORD: usize = 32;
const FLAG: usize = 6;

const COMMISSIONS: [([u8; FLAG], &str); 6] = [
    ([0x3c, 0xa2, 0x0a, 0xfc, 0x2a, 0xaa], "input"),
    ([0x3c, 0xa2, 0x0a, 0xfc, 0x2b, 0xbb], "output"),
    ([0x22, 0x22, 0x0a, 0xfc, 0x2a, 0xaa], "input"),
    ([0x22, 0x22, 0x0a, 0xfc, 0x2b, 0xbb], "output"),
    ([0x88, 0x88, 0x0a, 0xfc, 0x2a, 0xaa], "input"),
    ([0x88, 0x88, 0x0a, 0xfc, 0x2b, 0xbb], "output"),
];
const TRIM: [u8; FLAG] = [0x77, 0x77, 0x77, 0x77, 0x11, 0x11];
const TRIM_DUAL: [u8; FLAG] = [0x77, 0x77, 0x77, 0x77, 0x22, 0x22];
/// The router's own limit: a tenth of the output.
const MAX_TRIM_PER_MILLE: u64 = 100;

/// The end of an ERC-8021 attribution suffix.
const ATTRIBUTION: [u8; 16] = [
    0x80, 0x21, 0x80, 0x21, 0x80, 0x21, 0x80, 0x21, 0x80, 0x21, 0x80, 0x21, 0x80, 0x21, 0x80, 0x21,
];

/// The share that the aggregator keeps of an output above the quoted one. The caller still receives
/// at least the least output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Output above which the aggregator keeps a share, in the output token's unit.
    pub above: U256,
    /// Largest share of the output that is kept, per mille.
    pub rate_per_mille: u64,
    /// The recipient of the share.
    pub recipient: Address,
    /// A second recipient of the kept amount.
    pub charge: Option<TrimCharge>,
}

/// The second recipient of a trim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimCharge {
    /// The recipient's part of the kept amount, per mille.
    pub share_per_mille: u64,
    /// The recipient.
    pub recipient: Address,
}

/// Reads the fees of `data`, whose last `trailing` bytes follow the arguments.
pub(super) fn read(data: &[u8], trailing: &[u8]) -> Result<Option<Trim>, Refusal> {
    // The router reads the last word, whatever precedes it.
    if let Some(side) = data.last_chunk::<WORD>().and_then(commission) {
        return Err(Refusal::CommissionPresent { side });
    }
    let marked = data.last_chunk::<WORD>().is_some_and(is_trim);
    // An honest encoder appends words to the arguments.
    if let Some(side) = words(trailing).find_map(commission) {
        return Err(Refusal::CommissionPresent { side });
    }
    let appended = without_attribution(trailing);
    let declared = trim(appended);
    let understood = declared.as_ref().map_or(0, |(_, bytes)| *bytes);
    if marked && (declared.is_none() || appended.len() != trailing.len()) {
        return Err(Refusal::FeeMarkerInArguments);
    }
    if appended.len() != understood {
        return Err(Refusal::TrailingUnrecognised {
            bytes: trailing.len(),
        });
    }
    match declared {
        Some((trim, _)) if trim.rate_per_mille > MAX_TRIM_PER_MILLE => Err(Refusal::TrimRate {
            max: MAX_TRIM_PER_MILLE,
            observed: trim.rate_per_mille,
        }),
        declared => Ok(declared.map(|(trim, _)| trim)),
    }
}

fn is_trim(word: &[u8; WORD]) -> bool {
    word.first_chunk::<FLAG>()
        .is_some_and(|flag| *flag == TRIM || *flag == TRIM_DUAL)
}

fn commission(word: &[u8; WORD]) -> Option<&'static str> {
    let flag = word.first_chunk::<FLAG>()?;
    COMMISSIONS
        .iter()
        .find(|(known, _)| known == flag)
        .map(|(_, side)| *side)
}

/// Reads the trim at the end of `bytes`, and returns it with its number of bytes.
fn trim(bytes: &[u8]) -> Option<(Trim, usize)> {
    let mut from_end = bytes.rchunks_exact(WORD);
    let first = from_end.next()?;
    let dual = match *first.first_chunk::<FLAG>()? {
        TRIM => false,
        TRIM_DUAL => true,
        _ => return None,
    };
    let same_flag = |word: &&[u8]| word.first_chunk::<FLAG>() == first.first_chunk::<FLAG>();
    let second = from_end.next().filter(same_flag)?;
    let charge = match dual {
        true => {
            let third = from_end.next().filter(same_flag)?;
            Some(TrimCharge {
                share_per_mille: rate(third),
                recipient: address(third),
            })
        }
        false => None,
    };
    let trim = Trim {
        above: U256::from_be_slice(second.get(12..).unwrap_or_default()),
        rate_per_mille: rate(first),
        recipient: address(first),
        charge,
    };
    Some((trim, if dual { 3 * WORD } else { 2 * WORD }))
}

fn rate(word: &[u8]) -> u64 {
    word.get(FLAG..12)
        .unwrap_or_default()
        .iter()
        .fold(0, |acc, byte| (acc << 8) | u64::from(*byte))
}

fn address(word: &[u8]) -> Address {
    word.last_chunk::<20>().copied().unwrap_or_default().into()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8; WORD]> {
    bytes
        .windows(WORD)
        .filter_map(|window| window.first_chunk())
}

/// Returns `trailing` without an ERC-8021 suffix of schema 0: printable codes, their length, `00`,
/// the marker.
fn without_attribution(trailing: &[u8]) -> &[u8] {
    let strip = || {
        let rest = trailing.strip_suffix(&ATTRIBUTION)?;
        let (schema, rest) = rest.split_last()?;
        let (length, rest) = rest.split_last()?;
        let (before, codes) =
            rest.split_at_checked(rest.len().checked_sub(usize::from(*length))?)?;
        let printable = !codes.is_empty() && codes.iter().all(u8::is_ascii_graphic);
        (*schema == 0 && printable).then_some(before)
    };
    strip().unwrap_or(trailing)
}
