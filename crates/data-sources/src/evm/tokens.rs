//! Symbol and decimals as tokens state them, read in one batch and kept.

use std::{collections::BTreeMap, time::Duration};

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolValue, sol};
use jiff::Timestamp;
use readings::chain::TokenFacts;

use super::{EvmReader, Leg};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    provenance::{Provenance, Sourced},
    recent::Recent,
    text::clean,
};

/// Tokens that are kept.
const KEPT: usize = 20_000;
const KEPT_FOR: Duration = Duration::from_secs(86_400);
/// Most batches that are sent to find the tokens that make a batch fail.
const MAX_BATCHES: usize = 16;
/// Most characters of a symbol.
const MAX_SYMBOL_CHARS: usize = 32;
/// The most decimals that are believed: more than any token has.
const MAX_DECIMALS: u8 = 36;

sol! {
    function symbol() external view returns (string symbol);
    function decimals() external view returns (uint8 decimals);
    function balanceOf(address account) external view returns (uint256 balance);
}

/// The kept facts, each with the time from which it is kept.
pub(super) type Kept = Recent<(u64, Address), (Timestamp, TokenFacts)>;

pub(super) fn cache() -> Kept {
    Recent::new(KEPT)
}

impl EvmReader {
    /// Symbol and decimals of tokens, as far as the tokens state them. A token has neither in the
    /// answer when it states neither, or when every batch that contains it fails. These facts only
    /// name things: their age does not count as the age of an answer.
    ///
    /// # Errors
    ///
    /// As [`EvmReader::multicall`].
    pub async fn token_facts(
        &self,
        chain_id: u64,
        tokens: &[Address],
    ) -> Result<Sourced<BTreeMap<Address, TokenFacts>>, Error> {
        let mut found = BTreeMap::new();
        let mut unknown = Vec::new();
        let now = self.now();
        let mut since = now;
        for token in tokens {
            let kept = self.tokens.get(&(chain_id, *token));
            match kept.filter(|(at, _)| is_young(*at, now)) {
                Some((at, facts)) => {
                    since = since.min(at);
                    found.insert(*token, facts);
                }
                None => unknown.push(*token),
            }
        }
        if unknown.is_empty() {
            let mut kept = Provenance::local(super::endpoints::source(chain_id), since);
            kept.cached = true;
            kept.mode = self.mode();
            let kept = Sourced {
                value: found,
                sources: vec![kept],
            };
            return Ok(kept.as_reference());
        }
        // One token can make a batch fail, for example by using up its gas: then the others are
        // asked without it.
        let (mut open, mut answered, mut failure) = (vec![unknown.as_slice()], None, None);
        for _ in 0..MAX_BATCHES {
            let Some(part) = open.pop() else { break };
            match self.read_batch(chain_id, part).await {
                Ok(Sourced { value, sources }) => {
                    answered.get_or_insert(sources);
                    for (token, facts) in value {
                        if facts != TokenFacts::default() {
                            let kept = (self.now(), facts.clone());
                            self.tokens.insert((chain_id, token), kept);
                        }
                        found.insert(token, facts);
                    }
                }
                Err(error) if !is_caused_by_a_call(&error) => return Err(error),
                Err(error) => {
                    failure = Some(error);
                    if part.len() > 1 {
                        let (one, other) = part.split_at(part.len() / 2);
                        open.extend([other, one]);
                    }
                }
            }
        }
        let sources = match (answered, failure) {
            (Some(sources), _) => sources,
            (None, Some(error)) => return Err(error),
            (None, None) => Vec::new(),
        };
        for token in unknown {
            found.entry(token).or_default();
        }
        let value = found;
        Ok(Sourced { value, sources }.as_reference())
    }

    /// The facts that tokens state in one batch.
    async fn read_batch(
        &self,
        chain_id: u64,
        tokens: &[Address],
    ) -> Result<Sourced<Vec<(Address, TokenFacts)>>, Error> {
        let legs = |token: &Address| {
            [symbolCall {}.abi_encode(), decimalsCall {}.abi_encode()].map(|data| Leg {
                to: *token,
                data: data.into(),
            })
        };
        let legs: Vec<Leg> = tokens.iter().flat_map(legs).collect();
        let batch = self.multicall(chain_id, &legs).await?;
        let facts = |(token, returned): (&Address, &[Option<Bytes>])| {
            let facts = TokenFacts {
                symbol: returned.first().and_then(Option::as_ref).and_then(symbol),
                decimals: returned.last().and_then(Option::as_ref).and_then(decimals),
            };
            (*token, facts)
        };
        Ok(batch.map(|batch| {
            tokens
                .iter()
                .zip(batch.results.chunks(2))
                .map(facts)
                .collect()
        }))
    }

    /// The balance of a token, as a call of a batch. Read its result with [`amount`](Self::amount).
    #[must_use]
    pub fn balance_leg(token: Address, account: Address) -> Leg {
        let data = balanceOfCall { account }.abi_encode().into();
        Leg { to: token, data }
    }

    /// One word as an amount; `None` for anything else.
    #[must_use]
    pub fn amount(returned: &Bytes) -> Option<U256> {
        (returned.len() == 32).then(|| U256::from_be_slice(returned))
    }
}

/// Whether the kept facts still count.
fn is_young(at: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(at)).is_ok_and(|age| age <= KEPT_FOR)
}

/// Whether a call of the batch made it fail. A missing node is another failure.
fn is_caused_by_a_call(error: &Error) -> bool {
    matches!(
        error,
        Error::Source(SourceError {
            kind: SourceErrorKind::Malformed { .. }
                | SourceErrorKind::Business { .. }
                | SourceErrorKind::TooLarge { .. },
            ..
        })
    )
}

/// A text, or 32 bytes that hold one, as the oldest tokens return it.
fn symbol(returned: &Bytes) -> Option<String> {
    let text = match <[u8; 32]>::try_from(returned.as_ref()) {
        Ok(word) => {
            let end = word
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(word.len());
            String::from_utf8(word.get(..end)?.to_vec()).ok()?
        }
        Err(_) => String::abi_decode(returned).ok()?,
    };
    let cleaned = clean(&text, MAX_SYMBOL_CHARS);
    (!cleaned.is_empty()).then_some(cleaned)
}

fn decimals(returned: &Bytes) -> Option<u8> {
    let decimals = u8::try_from(EvmReader::amount(returned)?).ok()?;
    (decimals <= MAX_DECIMALS).then_some(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_every_age_are_read_and_cleaned() {
        let text = |symbol: &str| Bytes::from(symbol.to_owned().abi_encode());
        assert_eq!(symbol(&text("USD₮0")).as_deref(), Some("USD₮0"));
        assert_eq!(symbol(&text("\u{202e}X\u{0}")).as_deref(), Some("X"));
        assert_eq!(
            symbol(&text(&"A".repeat(9_000))).map(|symbol| symbol.len()),
            Some(32)
        );
        let mut word = [0; 32];
        word[..3].copy_from_slice(b"MKR");
        assert_eq!(
            symbol(&Bytes::copy_from_slice(&word)).as_deref(),
            Some("MKR")
        );
        for nothing in [
            text(""),
            Bytes::from_static(&[1]),
            Bytes::from(vec![0xff; 32]),
        ] {
            assert_eq!(symbol(&nothing), None);
        }
        let number = |n: u64| Bytes::from(U256::from(n).to_be_bytes::<32>());
        assert_eq!(decimals(&number(6)), Some(6));
        assert_eq!(decimals(&number(0)), Some(0));
        for wrong in [number(37), number(256), Bytes::new(), text("6")] {
            assert_eq!(decimals(&wrong), None);
        }
    }
}
