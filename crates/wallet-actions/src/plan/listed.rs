//! The reviewed products, for rankings, and plans of deposits that any account can sign.
//!
//! A plan passes the same checks as a deposit of a sub-wallet. Its transactions are neither
//! simulated nor signed.

use alloy_primitives::{Address, U256};
use chain_reader::ChainReader;
use custody::SigningPolicy;

use super::product::Protocol;
use super::{Account, Product};
use crate::intent::Step;
use crate::{PlannedStep, Refused};

/// A product of the reviewed list, into which this crate can deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProduct {
    /// Its chain.
    pub chain_id: u64,
    /// Its id in the reviewed list.
    pub product_id: String,
    /// Its protocol.
    pub protocol: &'static str,
    /// The pool or vault.
    pub contract: Address,
    /// The token to deposit.
    pub asset: Address,
}

/// The transactions of a deposit from an account's own address. They were neither simulated nor
/// signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositPlan {
    /// The transactions, in the order of sending. None of them transfers coins.
    pub steps: Vec<PlannedStep>,
    /// The amount to deposit, in the asset's smallest unit.
    pub amount: U256,
    /// The worth of the shares in the asset's smallest unit, by the product's own conversion.
    pub worth: U256,
    /// The share token.
    pub shares: Address,
    /// The fewest shares to expect, in their smallest unit. The calldata does not enforce this
    /// number.
    pub at_least: U256,
}

impl ListedProduct {
    /// Returns the products of a reviewed list whose protocol this crate supports.
    #[must_use]
    pub fn all(policy: &SigningPolicy) -> Vec<Self> {
        Product::all(policy).map(Self::from).collect()
    }

    /// Reads the asset's symbol from the token. Returns an empty text when the token has none.
    ///
    /// # Errors
    /// [`Refused::Unavailable`]: the chain cannot be read.
    pub async fn symbol(&self, chain: &ChainReader) -> Result<String, Refused> {
        let account = Account {
            chain,
            address: Address::ZERO,
        };
        account.symbol(self.asset).await
    }

    /// Plans the deposit of `amount` whole tokens of the asset from `account`, with the same
    /// transactions and checks as for a sub-wallet. It does not check that the account holds the
    /// amount.
    ///
    /// # Errors
    /// [`Refused`]: the amount is not a valid amount of the asset, the product does not accept it
    /// now, or the chain cannot be read.
    pub async fn plan_deposit(
        &self,
        chain: &ChainReader,
        account: Address,
        amount: &str,
    ) -> Result<DepositPlan, Refused> {
        let product = self.known()?;
        let account = Account {
            chain,
            address: account,
        };
        let held = account.held(product.asset).await?;
        let deposit = account.deposit_in(&product, held, amount, None).await?;
        let expected = deposit.call.expects.map(|expected| expected.at_least);
        let steps = deposit.approvals.into_iter().chain([deposit.call]);
        Ok(DepositPlan {
            steps: steps.map(unsigned).collect(),
            amount: deposit.amount,
            worth: deposit.worth,
            shares: deposit.shares,
            at_least: expected.unwrap_or_default(),
        })
    }

    fn known(&self) -> Result<Product, Refused> {
        let protocol = Protocol::from_word(self.protocol).ok_or_else(|| {
            let message = format!("expected aave-v3 or erc4626, observed {}", self.protocol);
            Refused::unsupported("protocol_unsupported", message)
        })?;
        Ok(Product {
            chain_id: self.chain_id,
            contract: self.contract,
            id: self.product_id.clone(),
            protocol,
            asset: self.asset,
        })
    }
}

impl From<Product> for ListedProduct {
    fn from(product: Product) -> Self {
        Self {
            chain_id: product.chain_id,
            product_id: product.id,
            protocol: product.protocol.as_str(),
            contract: product.contract,
            asset: product.asset,
        }
    }
}

fn unsigned(step: Step) -> PlannedStep {
    PlannedStep {
        kind: step.kind,
        to: step.to,
        input: step.input,
    }
}
