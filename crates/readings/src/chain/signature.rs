//! The signature of a call, and how certain it is.

use alloy_primitives::Selector;
use serde::Serialize;

use super::{
    abi::{Decoded, Signature},
    builtin::{self, Row},
    knowledge::{Candidate, ContractFacts},
};

/// How certain the decoded form of a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The source code of the contract, or of its implementation, is published, compiles to the
    /// deployed code, and has the function.
    VerifiedAbi,
    /// A database of signatures has one with this selector, and the calldata is its exact encoding.
    /// What the contract does under that name is unknown.
    SignatureDb,
    /// No known signature matches.
    Unknown,
}

/// A call's matching signature, with the arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The signature.
    pub signature: Signature,
    /// The arguments.
    pub decoded: Decoded,
    /// How certain it is.
    pub confidence: Confidence,
    /// Its row, if it is one of [`builtin`].
    pub row: Option<&'static Row>,
    /// Other signatures that match equally well.
    pub others: Vec<String>,
}

/// Finds the signature of a call to a contract with these `facts`. The interface of verified code
/// comes first, then the standards that are known here, then the `candidates` of signature
/// databases. Of these, the ones that occur in verified code come first, and then the others in the
/// given order.
#[must_use]
pub fn read(
    data: &[u8],
    facts: Option<&ContractFacts>,
    candidates: &[Candidate],
) -> Option<Reading> {
    let selector = Selector::from_slice(data.get(..4)?);
    let reading = |signature: &Signature, decoded, confidence| Reading {
        row: builtin::row(signature),
        signature: signature.clone(),
        decoded,
        confidence,
        others: Vec::new(),
    };
    if let Some(signature) = facts.and_then(|facts| facts.function(selector))
        && let Some(decoded) = signature.decode(data)
    {
        return Some(reading(signature, decoded, Confidence::VerifiedAbi));
    }
    // Wallets and applications append bytes to a known call, as an attribution.
    for (signature, _) in builtin::with_selector(selector) {
        if let Some(decoded) = signature.decode(data) {
            return Some(reading(signature, decoded, Confidence::SignatureDb));
        }
    }
    let mut sorted: Vec<&Candidate> = candidates.iter().collect();
    sorted.sort_by_key(|candidate| !candidate.verified);
    let mut found: Option<Reading> = None;
    for candidate in sorted {
        let fits = |signature: Signature| {
            let decoded = signature
                .decode(data)
                .filter(|decoded| decoded.trailing == 0)?;
            Some((signature, decoded))
        };
        let Some((signature, decoded)) = Signature::parse(&candidate.text).and_then(fits) else {
            continue;
        };
        match &mut found {
            None => found = Some(reading(&signature, decoded, Confidence::SignatureDb)),
            Some(first) if first.signature.text() == signature.text() => {}
            Some(first) => first.others.push(signature.text().to_owned()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    const TRANSFER: &str = "a9059cbb00000000000000000000000022222222222222222222222222222222222222220000000000000000000000000000000000000000000000000000000000989680";

    fn candidate(text: &str, verified: bool) -> Candidate {
        Candidate {
            text: text.to_owned(),
            verified,
        }
    }

    #[test]
    fn verified_code_comes_first_and_candidates_must_fit() {
        let data = hex::decode(TRANSFER).unwrap();
        let facts = ContractFacts::verified(
            r#"[{"type":"function","name":"transfer","inputs":[{"name":"dst","type":"address"},{"name":"wad","type":"uint256"}]}]"#,
        )
        .unwrap();
        let verified = read(&data, Some(&facts), &[]).unwrap();
        assert_eq!(verified.confidence, Confidence::VerifiedAbi);
        assert_eq!(verified.row.unwrap().standard, "erc20");
        let known = read(&data, None, &[]).unwrap();
        assert_eq!(known.confidence, Confidence::SignatureDb);
        // An interface that lacks the function is no evidence about it.
        let other =
            ContractFacts::verified(r#"[{"type":"function","name":"f","inputs":[]}]"#).unwrap();
        assert_eq!(
            read(&data, Some(&other), &[]).unwrap().confidence,
            Confidence::SignatureDb
        );
    }

    #[test]
    fn candidates_of_databases_are_tried_and_rivals_named() {
        // The code of `mint(address)` is unknown, and a rival signature was registered for its
        // selector.
        let mint = Signature::parse("mint(address)").unwrap();
        let mut data = mint.selector().to_vec();
        data.extend([0; 12]);
        data.extend([0x22; 20]);
        let spam = candidate("mint(address,uint256)", true);
        let reading = read(
            &data,
            None,
            &[spam.clone(), candidate("mint(address)", false)],
        )
        .unwrap();
        assert_eq!(
            (reading.signature.text(), reading.confidence),
            ("mint(address)", Confidence::SignatureDb)
        );
        assert_eq!(reading.others, Vec::<String>::new());
        data.push(0);
        assert_eq!(
            read(&data, None, &[spam, candidate("mint(address)", false)]),
            None
        );
        assert_eq!(read(&[1, 2, 3], None, &[]), None);
    }
}
