//! The checks that scanners make of a contract and its market.

use std::fmt;

use serde::{Serialize, Serializer};

use super::RiskLevel;

/// Declares the checks, with their names and severities.
macro_rules! checks {
    ($( $variant:ident, $name:literal, $severity:ident, $doc:literal; )+) => {
        /// One risk that scanners look for. `true` always means that the risk is present.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $( #[doc = $doc] $variant, )+
        }

        impl Check {
            /// Every check, worst first.
            pub const ALL: [Self; [$( $name ),+].len()] = [$( Self::$variant ),+];

            /// Its name in an answer.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name ),+ }
            }

            /// Its severity when it is true.
            #[must_use]
            pub const fn severity(self) -> RiskLevel {
                match self { $( Self::$variant => RiskLevel::$severity ),+ }
            }

            /// Its meaning when it is true.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $( Self::$variant => $doc ),+ }
            }
        }
    };
}

checks! {
    Honeypot, "honeypot", Critical, "It can be bought but not sold.";
    AirdropScam, "airdrop_scam", Critical, "An airdrop that takes money from those who touch it.";
    RubbishAirdrop, "rubbish_airdrop", Critical, "A worthless token that was sent to many unasked.";
    CannotBuy, "cannot_buy", High, "It cannot be bought.";
    CannotSellAll, "cannot_sell_all", High, "A holder cannot sell everything at once.";
    Counterfeit, "counterfeit", High, "It imitates another token.";
    NotOpenSource, "not_open_source", High, "The source of the contract is not published.";
    HiddenOwner, "hidden_owner", High, "Somebody who is not its visible owner can act as one.";
    OwnershipReclaimable, "ownership_reclaimable", High, "Ownership that was given up can be taken back.";
    OwnerChangesBalances, "owner_changes_balances", High, "The owner can change balances.";
    SelfDestruct, "self_destruct", High, "The contract can be destroyed.";
    HoneypotCreator, "honeypot_creator", High, "Its creator made honeypots before.";
    PersonalTax, "personal_tax", High, "The tax can be set for a single holder.";
    HoldersBlockedBefore, "holders_blocked_before", High, "Holders were blocked before.";
    OverIssued, "over_issued", High, "More was issued than is stated.";
    LowLiquidity, "low_liquidity", High, "Too little liquidity to trade in.";
    FakeLiquidity, "fake_liquidity", High, "Its liquidity is feigned.";
    LiquidityRemoval, "liquidity_removal", High, "Liquidity is being taken out.";
    LiquidityConcentrated, "liquidity_concentrated", High, "Very few hold its liquidity.";
    LiquidityHardlyBurned, "liquidity_hardly_burned", High, "Hardly any of its liquidity is burned.";
    Dumping, "dumping", High, "Large holders are selling.";
    Pump, "pump", High, "Its price is driven up.";
    WashTrading, "wash_trading", High, "Its trades are feigned.";
    LinkedToRugPulls, "linked_to_rug_pulls", High, "It is linked to addresses that emptied other pools.";
    Mintable, "mintable", Medium, "More of it can be made.";
    Freezable, "freezable", Medium, "Holdings can be frozen.";
    Blacklist, "blacklist", Medium, "Addresses can be barred from it.";
    TransferPausable, "transfer_pausable", Medium, "All transfers can be stopped.";
    TaxModifiable, "tax_modifiable", Medium, "The tax can be changed.";
    TradingCooldown, "trading_cooldown", Medium, "A holder must wait between trades.";
    TradeLimitModifiable, "trade_limit_modifiable", Medium, "The largest trade can be changed.";
    ExternalCall, "external_call", Medium, "Transfers depend on another contract.";
    Proxy, "proxy", Medium, "Its code can be exchanged.";
    NotRenounced, "not_renounced", Medium, "Somebody owns the contract.";
    Whitelist, "whitelist", Low, "Some addresses are exempt from its rules.";
    TradeLimit, "trade_limit", Low, "A single trade has a largest size.";
}

impl Check {
    /// The checks that a safe token must pass. Each is about a way to take or lock a holder's
    /// tokens.
    pub const SEVERE: [Self; 7] = [
        Self::CannotSellAll,
        Self::HiddenOwner,
        Self::OwnerChangesBalances,
        Self::SelfDestruct,
        Self::Blacklist,
        Self::TransferPausable,
        Self::Proxy,
    ];
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn checks_are_listed_worst_first_and_named_once() {
        let severities: Vec<_> = Check::ALL.iter().map(|check| check.severity()).collect();
        assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
        let names: BTreeSet<_> = Check::ALL.iter().map(|check| check.name()).collect();
        assert_eq!(names.len(), Check::ALL.len());
        let plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(names.iter().all(|name| plain(name)));
        assert_eq!(Check::ALL[0], Check::Honeypot);
    }
}
