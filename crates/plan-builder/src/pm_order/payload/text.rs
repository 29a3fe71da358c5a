//! Converts the payload to the form that the checks decode.

use calldata_checks::pm_order as checks;

use super::{BodyOrder, Member, OrderRecord, PmOrderPayload, TypedData};

impl PmOrderPayload {
    /// Returns the payload in the form that the checks decode. `salt` is the text of the number in
    /// the body.
    pub(in crate::pm_order) fn text<'a>(&'a self, salt: &'a str) -> checks::TypedOrder<'a> {
        let [approval] = &self.prerequisites;
        let body = &self.post.body_template;
        checks::TypedOrder {
            typed_data: self.typed_data.text(),
            order: self.order.text(),
            order_hash: &self.order_hash,
            post: checks::Post {
                method: &self.post.method,
                path: &self.post.path,
                defer_exec: body.defer_exec,
                post_only: body.post_only,
                order_type: &body.order_type,
                order: body.order.text(salt),
            },
            approval: checks::Approval {
                contract: &approval.contract,
                function: &approval.function,
                spender: &approval.spender,
                amount: &approval.amount,
            },
        }
    }
}

impl TypedData {
    fn text(&self) -> checks::TypedData<'_> {
        let (domain, message) = (&self.domain, &self.message);
        checks::TypedData {
            domain_members: members(&self.types.domain),
            order_members: members(&self.types.order),
            primary_type: &self.primary_type,
            domain: checks::DomainText {
                name: &domain.name,
                version: &domain.version,
                chain_id: domain.chain_id,
                verifying_contract: &domain.verifying_contract,
            },
            message: checks::Message {
                salt: &message.salt,
                maker: &message.maker,
                signer: &message.signer,
                token_id: &message.token_id,
                maker_amount: &message.maker_amount,
                taker_amount: &message.taker_amount,
                side: message.side,
                signature_type: message.signature_type,
                timestamp: &message.timestamp,
                metadata: &message.metadata,
                builder: &message.builder,
            },
        }
    }
}

impl OrderRecord {
    fn text(&self) -> checks::RestOrder<'_> {
        checks::RestOrder {
            salt: &self.salt,
            maker: &self.maker,
            signer: &self.signer,
            token_id: &self.token_id,
            maker_amount: &self.maker_amount,
            taker_amount: &self.taker_amount,
            side: &self.side,
            signature_type: self.signature_type,
            timestamp: &self.timestamp,
            expiration: &self.expiration,
            metadata: &self.metadata,
            builder: &self.builder,
        }
    }
}

impl BodyOrder {
    fn text<'a>(&'a self, salt: &'a str) -> checks::RestOrder<'a> {
        checks::RestOrder {
            salt,
            maker: &self.maker,
            signer: &self.signer,
            token_id: &self.token_id,
            maker_amount: &self.maker_amount,
            taker_amount: &self.taker_amount,
            side: &self.side,
            signature_type: self.signature_type,
            timestamp: &self.timestamp,
            expiration: &self.expiration,
            metadata: &self.metadata,
            builder: &self.builder,
        }
    }
}

fn members(list: &[Member]) -> Vec<checks::Member<'_>> {
    list.iter()
        .map(|member| checks::Member {
            name: &member.name,
            kind: &member.kind,
        })
        .collect()
}
