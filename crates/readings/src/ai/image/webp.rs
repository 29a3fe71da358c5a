//! WebP (RFC 9649): a RIFF container with a lossy, a lossless or an extended image.

use super::{ImageError, ImageFormat, Reader};

/// Returns the width and the height.
pub(super) fn size(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(bytes, ImageFormat::Webp);
    reader.take(4)?;
    let length = usize::try_from(u32::from_le_bytes(reader.array()?))
        .map_err(|_| reader.malformed("length"))?;
    let mut body = Reader::new(reader.take(length)?, ImageFormat::Webp);
    reader.end()?;
    body.take(4)?;

    let mut canvas = None;
    let mut pixels = None;
    while !body.rest.is_empty() {
        let kind: [u8; 4] = body.array()?;
        let length = usize::try_from(u32::from_le_bytes(body.array()?))
            .map_err(|_| body.malformed("chunk length"))?;
        let data = body.take(length)?;
        // Chunks have an even length. The stated length does not include the padding.
        if length % 2 == 1 {
            body.take(1)?;
        }
        match &kind {
            b"VP8X" => canvas = Some(extended(data)?),
            b"VP8 " => pixels = Some(lossy(data)?),
            b"VP8L" => pixels = Some(lossless(data)?),
            // Animations have their pixels in frames. They are not supported.
            b"ANIM" | b"ANMF" => return Err(body.malformed("animated")),
            _ => {}
        }
    }
    match (canvas, pixels) {
        (_, None) => Err(body.malformed("no pixels")),
        (Some(canvas), Some(pixels)) if canvas != pixels => {
            Err(body.malformed("two different sizes"))
        }
        (_, Some(pixels)) => Ok(pixels),
    }
}

fn extended(data: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(data, ImageFormat::Webp);
    reader.take(4)?;
    let mut side = || {
        let [a, b, c] = reader.array()?;
        // 24 bits cannot overflow.
        Ok(u32::from_le_bytes([a, b, c, 0]).saturating_add(1))
    };
    Ok((side()?, side()?))
}

fn lossy(data: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(data, ImageFormat::Webp);
    let [tag, ..] = reader.array::<3>()?;
    if tag & 1 != 0 || reader.array()? != [0x9d, 0x01, 0x2a] {
        return Err(reader.malformed("no key frame"));
    }
    // The upper two bits of each number are a scale.
    let mut side = || Ok(u32::from(u16::from_le_bytes(reader.array()?) & 0x3fff));
    Ok((side()?, side()?))
}

fn lossless(data: &[u8]) -> Result<(u32, u32), ImageError> {
    let mut reader = Reader::new(data, ImageFormat::Webp);
    if reader.array()? != [0x2f] {
        return Err(reader.malformed("no lossless image"));
    }
    let bits = u32::from_le_bytes(reader.array()?);
    let side = |bits: u32| (bits & 0x3fff).saturating_add(1);
    Ok((side(bits), side(bits >> 14)))
}
