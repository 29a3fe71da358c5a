//! Transactions, receipts and blocks as nodes write them. A body about another transaction, block
//! or chain is refused.

use alloy_eip7702::Authorization;
use alloy_primitives::{B256, Signature, U256};
use jiff::Timestamp;
use readings::chain::{
    BlockRef, ExecutionOutcome, Log, Receipt, Transaction,
    record::{CodeAuthorization, DEPOSIT_KIND, MAX_LOGS},
};

use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

type Read<T> = Result<T, SourceErrorKind>;

pub(super) fn transaction(json: &Json<'_>, chain_id: u64, hash: B256) -> Read<Transaction> {
    let object = json.object()?;
    same_word(&object, "hash", hash)?;
    if let Some(told) = object.find("chainId")
        && told.quantity()? != U256::from(chain_id)
    {
        return Err(told.malformed("the id of this chain"));
    }
    let input = match object.find("input") {
        Some(input) => input,
        None => object.member("data")?,
    };
    let block = match (object.find("blockHash"), object.find("blockNumber")) {
        (Some(hash), Some(number)) => Some(BlockRef {
            number: small(&number)?,
            hash: hash.word()?,
        }),
        _ => None,
    };
    let authorizations = match object.find("authorizationList") {
        Some(list) => list.elements()?.iter().map(authorization).collect(),
        None => Ok(Vec::new()),
    };
    let kind = object.find("type").map_or(Ok(0), |kind| small(&kind))?;
    Ok(Transaction {
        hash,
        kind,
        from: object.member("from")?.address()?,
        to: object.find("to").map(|to| to.address()).transpose()?,
        value: object.member("value")?.quantity()?,
        minted: match kind {
            DEPOSIT_KIND => quantity(&object, "mint")?,
            _ => None,
        },
        input: input.bytes()?,
        gas_limit: quantity(&object, "gas")?,
        block,
        authorizations: authorizations?,
    })
}

/// An EIP-7702 authorization. Its authority is recovered here, because nodes do not state it.
fn authorization(json: &Json<'_>) -> Read<CodeAuthorization> {
    let object = json.object()?;
    let signed = Authorization {
        chain_id: object.member("chainId")?.quantity()?,
        address: object.member("address")?.address()?,
        nonce: small(&object.member("nonce")?)?,
    };
    let parity = match object.find("yParity") {
        Some(parity) => parity,
        None => object.member("v")?,
    };
    let (r, s) = (
        object.member("r")?.quantity()?,
        object.member("s")?.quantity()?,
    );
    // The chain skips a signature that belongs to no account, and one with the higher of the two
    // possible numbers `s` (EIP-7702).
    let signature = match small(&parity)? {
        0 => Some(Signature::new(r, s, false)),
        1 => Some(Signature::new(r, s, true)),
        _ => None,
    };
    let signature = signature.filter(|signature| signature.normalize_s().is_none());
    let digest = signed.signature_hash();
    Ok(CodeAuthorization {
        authority: signature
            .and_then(|signature| signature.recover_address_from_prehash(&digest).ok()),
        delegate: signed.address,
        chain_id: signed.chain_id,
        nonce: signed.nonce,
    })
}

/// The receipt of `sent`, in its block.
pub(super) fn receipt(json: &Json<'_>, sent: &Transaction, block: BlockRef) -> Read<Receipt> {
    let object = json.object()?;
    same_word(&object, "transactionHash", sent.hash)?;
    same_word(&object, "blockHash", block.hash)?;
    let number = object.member("blockNumber")?;
    if small(&number)? != block.number {
        return Err(number.malformed("the block of the transaction"));
    }
    let from = object.member("from")?;
    if from.address()? != sent.from {
        return Err(from.malformed("the sender of the transaction"));
    }
    let outcome = match object.find("status") {
        Some(status) => match small(&status)? {
            0 => ExecutionOutcome::Reverted,
            1 => ExecutionOutcome::Success,
            _ => return Err(status.malformed("0x0 or 0x1")),
        },
        None => ExecutionOutcome::Unstated,
    };
    let listed = object.member("logs")?;
    let entries = listed.elements()?;
    let logs = entries
        .iter()
        .take(MAX_LOGS)
        .map(|entry| log(entry, sent.hash));
    let blobs = match (
        quantity(&object, "blobGasUsed")?,
        quantity(&object, "blobGasPrice")?,
    ) {
        // Rollups use the first name for another value, which has no price beside it.
        (Some(used), Some(price)) if sent.kind == 3 => Some((used, price)),
        _ => None,
    };
    let operator = ["operatorFeeScalar", "operatorFeeConstant"]
        .into_iter()
        .map(|key| quantity(&object, key))
        .collect::<Read<Vec<_>>>()?;
    Ok(Receipt {
        outcome,
        block,
        gas_used: object.member("gasUsed")?.quantity()?,
        l1_gas: quantity(&object, "gasUsedForL1")?,
        gas_price: quantity(&object, "effectiveGasPrice")?,
        l1_fee: quantity(&object, "l1Fee")?,
        blobs,
        operator_fee: operator.into_iter().flatten().any(|fee| !fee.is_zero()),
        created: object
            .find("contractAddress")
            .map(|created| created.address())
            .transpose()?,
        logs: logs.collect::<Read<_>>()?,
        logs_left_out: entries.len().saturating_sub(MAX_LOGS),
    })
}

/// The time of `block`.
pub(super) fn block_time(json: &Json<'_>, block: BlockRef) -> Read<Timestamp> {
    let object = json.object()?;
    same_word(&object, "hash", block.hash)?;
    let number = object.member("number")?;
    if small(&number)? != block.number {
        return Err(number.malformed("the height of the block"));
    }
    let time = object.member("timestamp")?;
    i64::try_from(time.quantity()?)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .ok_or_else(|| time.malformed("a time"))
}

fn log(json: &Json<'_>, hash: B256) -> Read<Log> {
    let object = json.object()?;
    if object.find("transactionHash").is_some() {
        same_word(&object, "transactionHash", hash)?;
    }
    if object.flag_or_false("removed")? {
        return Err(json.malformed("a log that was not removed"));
    }
    let listed = object.member("topics")?;
    let topics = listed.elements()?;
    if topics.len() > 4 {
        return Err(listed.malformed("at most four topics"));
    }
    Ok(Log {
        address: object.member("address")?.address()?,
        topics: topics.iter().map(Json::word).collect::<Read<_>>()?,
        data: object.member("data")?.bytes()?,
        index: small(&object.member("logIndex")?)?,
    })
}

fn same_word(object: &Object<'_>, key: &str, expected: B256) -> Read<()> {
    let found = object.member(key)?;
    if found.word()? == expected {
        Ok(())
    } else {
        Err(found.malformed("the one that was asked for"))
    }
}

fn quantity(object: &Object<'_>, key: &str) -> Read<Option<U256>> {
    object.find(key).map(|json| json.quantity()).transpose()
}

fn small(json: &Json<'_>) -> Read<u64> {
    u64::try_from(json.quantity()?).map_err(|_| json.malformed("a small number"))
}
