//! Sends the steps of a verified plan one after another, and checks their effects against the plan
//! and its simulation.

use alloy_primitives::{Address, B256, U64, U256};
use dev_chain::{DevChain, DevChainError, base};
use serde::Deserialize;
use serde_json::json;

use super::peer::Peer;
use super::plan::{Change, Plan, Step};
use super::{Broken, DemoError};

const STEP: u8 = 5;

/// A step that is in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) kind: String,
    pub(super) block: u64,
    pub(super) gas_used: u64,
    /// The router's allowance of the account's USDC after the step.
    pub(super) allowance: U256,
}

/// Balances and the allowance at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// The account's USDC.
    pub(super) usdc: U256,
    /// The account's WETH.
    pub(super) weth: U256,
    /// The router's allowance of the account's USDC.
    pub(super) allowance: U256,
    /// The USDC of each recipient of a fee, in the plan's order.
    pub(super) recipients: Vec<U256>,
    /// USDC and WETH of the router.
    pub(super) router: [U256; 2],
}

impl Standing {
    pub(super) fn read(chain: &DevChain, plan: &Plan) -> Result<Self, DevChainError> {
        let account = plan.account_binding.address;
        let usdc = |holder: Address| chain.balance_of(base::USDC, holder);
        let recipients = plan.fee_attribution.recipients.iter();
        Ok(Self {
            usdc: usdc(account)?,
            weth: chain.balance_of(base::WETH, account)?,
            allowance: chain.allowance(base::USDC, account, base::ROUTER)?,
            recipients: recipients
                .map(|r| usdc(r.address))
                .collect::<Result<_, _>>()?,
            router: [
                usdc(base::ROUTER)?,
                chain.balance_of(base::WETH, base::ROUTER)?,
            ],
        })
    }
}

/// Sends each step once the previous one is in a block.
pub(super) async fn run(
    node: &Peer,
    chain: &DevChain,
    plan: &Plan,
) -> Result<Vec<Sent>, DemoError> {
    let account = plan.account_binding.address;
    let mut sent = Vec::new();
    for step in &plan.payload.steps {
        let receipt = send(node, account, step).await?;
        sent.push(Sent {
            kind: step.kind.clone(),
            block: receipt.block_number.to(),
            gas_used: receipt.gas_used.to(),
            allowance: chain.allowance(base::USDC, account, base::ROUTER)?,
        });
    }
    Ok(sent)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receipt {
    block_number: U64,
    gas_used: U64,
    status: U64,
}

/// Sends one step. The embedded chain returns the hash of a transaction once it is in a block.
async fn send(node: &Peer, from: Address, step: &Step) -> Result<Receipt, DemoError> {
    let broken = |observed: String| Broken::new(STEP, "a step's receipt", "success", observed);
    let hash = node
        .call("eth_sendTransaction", json!([step.transaction(from)]))
        .await?;
    let hash: B256 = serde_json::from_value(hash).map_err(|error| broken(error.to_string()))?;
    let receipt = node
        .call("eth_getTransactionReceipt", json!([hash]))
        .await?;
    let receipt: Receipt =
        serde_json::from_value(receipt).map_err(|error| broken(error.to_string()))?;
    if receipt.status == U64::ONE {
        Ok(receipt)
    } else {
        Err(broken(format!("{} reverted", step.kind)).into())
    }
}

/// Checks that the effects are exactly those of the plan and of its simulation.
pub(super) fn judge(
    plan: &Plan,
    before: &Standing,
    after: &Standing,
    sent: &[Sent],
) -> Result<(), Broken> {
    let equal = |what, expected: U256, observed: U256| {
        Broken::unless_equal(STEP, what, &expected, &observed)
    };
    let quote = &plan.payload.quote;
    let spent = moved(before.usdc, after.usdc, "the account's USDC")?;
    equal("USDC spent", quote.from_amount, spent)?;
    let received = moved(after.weth, before.weth, "the account's WETH")?;
    if received < quote.to_amount_min {
        return Err(Broken::new(
            STEP,
            "WETH received",
            quote.to_amount_min,
            received,
        ));
    }
    let recipients = &plan.fee_attribution.recipients;
    Broken::unless_equal(
        STEP,
        "recipients of fees",
        &recipients.len(),
        &after.recipients.len(),
    )?;
    for ((recipient, before), after) in recipients
        .iter()
        .zip(&before.recipients)
        .zip(&after.recipients)
    {
        let paid = moved(*after, *before, "the USDC of a recipient")?;
        equal("a fee", recipient.amount, paid)?;
    }
    for (before, after) in before.router.iter().zip(&after.router) {
        equal("what the router keeps", *before, *after)?;
    }
    let blocks: Vec<_> = sent.iter().map(|sent| sent.block).collect();
    if !blocks.is_sorted_by(|earlier, later| earlier < later) {
        return Err(Broken::new(
            STEP,
            "the blocks",
            "each after the one before",
            format_args!("{blocks:?}"),
        ));
    }
    let allowances: Vec<_> = sent.iter().map(|sent| sent.allowance).collect();
    let expected = [U256::ZERO, quote.from_amount, U256::ZERO];
    Broken::unless_equal(
        STEP,
        "the allowance after each step",
        &format!("{expected:?}"),
        &format!("{allowances:?}"),
    )?;
    equal("the allowance that is left", U256::ZERO, after.allowance)?;
    judge_simulation(plan, spent, received, sent)
}

fn judge_simulation(plan: &Plan, spent: U256, received: U256, sent: &[Sent]) -> Result<(), Broken> {
    let simulation = plan.simulation.as_ref();
    let simulation =
        simulation.ok_or_else(|| Broken::new(STEP, "the simulation", "one", "none"))?;
    let change = |amount, direction: &str, token| Change {
        amount,
        direction: direction.to_owned(),
        token,
    };
    let changes = [
        change(spent, "spent", base::USDC),
        change(received, "received", base::WETH),
    ];
    let gas: Vec<_> = sent.iter().map(|sent| sent.gas_used).collect();
    let expected = format!("as_planned {changes:?} {gas:?}");
    let observed = format!(
        "{} {:?} {:?}",
        simulation.outcome, simulation.balance_changes, simulation.gas_used
    );
    Broken::unless_equal(STEP, "the simulation", &expected, &observed)
}

/// Returns the growth of a balance from `less` to `more`.
fn moved(more: U256, less: U256, what: &'static str) -> Result<U256, Broken> {
    more.checked_sub(less).ok_or_else(|| {
        Broken::new(
            STEP,
            what,
            "a move in the other direction",
            format_args!("{less} and {more}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::plan::{Simulation, tests::sample};

    const SPENT: u64 = 1_000_000_000;
    const RECEIVED: u64 = 397_800_000_000_000_000;

    /// Makes the record of a correct execution.
    fn executed() -> (Plan, Standing, Standing, Vec<Sent>) {
        let (mut plan, _, _) = sample();
        let change = |amount: u64, direction: &str, token| Change {
            amount: U256::from(amount),
            direction: direction.to_owned(),
            token,
        };
        plan.simulation = Some(Simulation {
            balance_changes: vec![
                change(SPENT, "spent", base::USDC),
                change(RECEIVED, "received", base::WETH),
            ],
            gas_used: vec![1, 2, 3],
            outcome: "as_planned".to_owned(),
        });
        let number = |amount: u64| U256::from(amount);
        let before = Standing {
            usdc: number(SPENT),
            weth: number(5),
            allowance: number(7),
            recipients: vec![number(10), number(0)],
            router: [number(1), number(2)],
        };
        let after = Standing {
            usdc: number(0),
            weth: number(RECEIVED + 5),
            allowance: number(0),
            recipients: vec![number(3_000_010), number(2_500_000)],
            router: before.router,
        };
        let sent = [("approve_reset", 0), ("approve", SPENT), ("call", 0)];
        let sent = (1..).zip(sent).map(|(block, (kind, allowance))| Sent {
            kind: kind.to_owned(),
            block,
            gas_used: block,
            allowance: number(allowance),
        });
        (plan, before, after, sent.collect())
    }

    #[test]
    fn an_execution_as_planned_holds() {
        let (plan, before, after, sent) = executed();
        assert_eq!(judge(&plan, &before, &after, &sent), Ok(()));
    }

    #[test]
    fn one_unit_elsewhere_is_a_failure() {
        type Edit = fn(&mut Plan, &mut Standing, &mut Vec<Sent>);
        let check = |what: &str, edit: Edit| {
            let (mut plan, before, mut after, mut sent) = executed();
            edit(&mut plan, &mut after, &mut sent);
            let broken = judge(&plan, &before, &after, &sent).unwrap_err();
            assert_eq!((broken.step, broken.what), (5, what));
        };
        check("USDC spent", |_, after, _| after.usdc += U256::ONE);
        check("the account's USDC", |_, after, _| after.usdc = U256::MAX);
        check("WETH received", |plan, after, _| {
            after.weth = plan.payload.quote.to_amount_min + U256::from(4);
        });
        check("the account's WETH", |_, after, _| after.weth = U256::ZERO);
        check("a fee", |_, after, _| after.recipients[0] += U256::ONE);
        check("a fee", |_, after, _| after.recipients[1] -= U256::ONE);
        check("recipients of fees", |_, after, _| {
            after.recipients.truncate(1)
        });
        check("what the router keeps", |_, after, _| {
            after.router[1] += U256::ONE
        });
        check("the allowance that is left", |_, after, _| {
            after.allowance = U256::ONE
        });
        check("the allowance after each step", |_, _, sent| {
            sent[0].allowance = U256::ONE
        });
        check("the allowance after each step", |_, _, sent| {
            drop(sent.pop())
        });
        check("the blocks", |_, _, sent| sent[1].block = 1);
        check("the simulation", |plan, _, _| plan.simulation = None);
        check("the simulation", |plan, _, _| {
            plan.simulation.as_mut().unwrap().outcome = "unavailable".to_owned();
        });
        check("the simulation", |plan, _, _| {
            plan.simulation.as_mut().unwrap().balance_changes[1].amount += U256::ONE;
        });
        check("the simulation", |_, _, sent| sent[2].gas_used += 1);
        check("the simulation", |_, after, _| after.weth += U256::ONE);
    }
}
