//! The content of calldata as `ethers-core` reads it, in the form of `facts.rs`.

use alloy_primitives::hex;
use ethers_core::abi::{ParamType, Token, decode, encode};
use serde_json::{Value, json};

use crate::facts::Function;

/// The content of calldata. `None` when the bytes are not `ethers-core`'s encoding of a call of the
/// function.
pub(crate) fn read(function: Function, data: &[u8]) -> Option<Value> {
    let (selector, arguments) = data.split_first_chunk::<4>()?;
    let types = arguments_of(function, *selector)?;
    let tokens = decode(&types, arguments).ok()?;
    let fits = types
        .iter()
        .zip(&tokens)
        .all(|(kind, token)| fits(kind, token));
    (fits && encode(&tokens) == arguments).then(|| facts(function, &tokens))
}

/// Whether a value fits its type. `ethers-core` keeps every integer in 256 bits, whatever its type
/// is.
fn fits(kind: &ParamType, token: &Token) -> bool {
    match (kind, token) {
        (ParamType::Uint(bits), Token::Uint(value)) => value.bits() <= *bits,
        _ => true,
    }
}

fn arguments_of(function: Function, selector: [u8; 4]) -> Option<Vec<ParamType>> {
    use ParamType::{Address, Array, Bool, Bytes, FixedBytes, String, Tuple, Uint};
    let burn = || {
        vec![
            Uint(256),
            Uint(32),
            FixedBytes(32),
            Address,
            FixedBytes(32),
            Uint(256),
            Uint(32),
        ]
    };
    Some(match (function, selector) {
        (Function::Approve, [0x09, 0x5e, 0xa7, 0xb3]) => vec![Address, Uint(256)],
        (Function::Burn, [0x8e, 0x02, 0x50, 0xee]) => burn(),
        (Function::Burn, [0x77, 0x9b, 0x43, 0x2d]) => {
            let mut types = burn();
            types.push(Bytes);
            types
        }
        (Function::ForwardFees, [0x33, 0x2d, 0x74, 0x6b]) => {
            vec![Address, Array(Box::new(Tuple(vec![Address, Uint(256)])))]
        }
        (Function::Swap, [0x5f, 0xd9, 0xae, 0x2e]) => {
            let leg = Tuple(vec![
                Address,
                Address,
                Address,
                Address,
                Uint(256),
                Bytes,
                Bool,
            ]);
            vec![
                FixedBytes(32),
                String,
                String,
                Address,
                Uint(256),
                Array(Box::new(leg)),
            ]
        }
        _ => return None,
    })
}

fn facts(function: Function, tokens: &[Token]) -> Value {
    match function {
        Function::Approve => json!({"spender": plain(&tokens[0]), "amount": plain(&tokens[1])}),
        Function::Burn => json!({
            "amount": plain(&tokens[0]),
            "destination_domain": plain(&tokens[1]),
            "mint_recipient": plain(&tokens[2]),
            "burn_token": plain(&tokens[3]),
            "destination_caller": plain(&tokens[4]),
            "max_fee": plain(&tokens[5]),
            "min_finality_threshold": plain(&tokens[6]),
            "hook": tokens.get(7).map(plain),
        }),
        Function::ForwardFees => json!({
            "token": plain(&tokens[0]),
            "distributions": plain(&tokens[1]),
        }),
        Function::Swap => {
            const NAMES: [&str; 7] = [
                "call_to",
                "approve_to",
                "sending",
                "receiving",
                "from_amount",
                "call_data",
                "requires_deposit",
            ];
            let legs: Vec<Value> = elements(&tokens[5])
                .iter()
                .map(|leg| {
                    NAMES
                        .into_iter()
                        .zip(elements(leg).iter().map(plain))
                        .collect()
                })
                .collect();
            json!({
                "transaction_id": plain(&tokens[0]),
                "integrator": plain(&tokens[1]),
                "referrer": plain(&tokens[2]),
                "receiver": plain(&tokens[3]),
                "min_amount_out": plain(&tokens[4]),
                "legs": legs,
            })
        }
    }
}

fn elements(token: &Token) -> &[Token] {
    match token {
        Token::Array(elements) | Token::Tuple(elements) => elements,
        other => panic!("{other:?}"),
    }
}

fn plain(token: &Token) -> Value {
    match token {
        Token::Address(address) => json!(hex::encode_prefixed(address)),
        Token::FixedBytes(bytes) | Token::Bytes(bytes) => json!(hex::encode_prefixed(bytes)),
        Token::Uint(value) => json!(value.to_string()),
        Token::Bool(value) => json!(value),
        Token::String(text) => json!(text),
        Token::Array(elements) | Token::Tuple(elements) => elements.iter().map(plain).collect(),
        other => panic!("{other:?}"),
    }
}
