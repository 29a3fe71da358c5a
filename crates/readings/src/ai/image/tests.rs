//! Tests of the three image formats, with files that follow the standards and with damaged ones.

use proptest::prelude::*;

use super::*;

/// Makes a PNG file. The files of these tests are the smallest ones with the structure of their
/// format, written by hand from the standards.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = png::SIGNATURE.to_vec();
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, 6, 0, 0, 0]);
    for (kind, data) in [
        (b"IHDR", header.as_slice()),
        (b"IDAT", b"pixels"),
        (b"IEND", b""),
    ] {
        file.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        let start = file.len();
        file.extend(kind);
        file.extend(data);
        file.extend(crc32(&file[start..]).to_be_bytes());
    }
    file
}

/// Computes the checksum bit by bit, as the standard defines it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            }
        })
    })
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut file = vec![0xff, 0xd8];
    file.extend([0xff, 0xe0, 0, 4, b'J', b'F']);
    file.extend([0xff, 0xc2, 0, 11, 8]);
    file.extend(height.to_be_bytes());
    file.extend(width.to_be_bytes());
    file.extend([1, 1, 0x11, 0]);
    // The image has two scans. The first one has a stuffed byte and a restart.
    file.extend([0xff, 0xda, 0, 2, 1, 2, 0xff, 0x00, 3, 0xff, 0xd0, 4]);
    file.extend([0xff, 0xff, 0xc4, 0, 2, 0xff, 0xda, 0, 2, 5, 0xff, 0xd9]);
    file
}

fn riff(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (kind, data) in chunks {
        body.extend(*kind);
        body.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        body.extend(data);
        body.extend(vec![0; data.len() % 2]);
    }
    let mut file = b"RIFF".to_vec();
    file.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    file.extend(body);
    file
}

fn vp8(width: u16, height: u16) -> Vec<u8> {
    let mut data = vec![0x10, 0, 0, 0x9d, 0x01, 0x2a];
    data.extend((width | 0x4000).to_le_bytes());
    data.extend((height | 0x8000).to_le_bytes());
    data.push(9);
    data
}

fn vp8l(width: u32, height: u32) -> Vec<u8> {
    let mut data = vec![0x2f];
    data.extend(((width - 1) | ((height - 1) << 14) | (1 << 28)).to_le_bytes());
    data
}

fn vp8x(width: u32, height: u32) -> Vec<u8> {
    let mut data = vec![0; 4];
    data.extend(&(width - 1).to_le_bytes()[..3]);
    data.extend(&(height - 1).to_le_bytes()[..3]);
    data
}

fn all() -> Vec<(Vec<u8>, ImageFormat)> {
    vec![
        (png(1024, 768), ImageFormat::Png),
        (jpeg(1024, 768), ImageFormat::Jpeg),
        (riff(&[(b"VP8 ", vp8(1024, 768))]), ImageFormat::Webp),
        (riff(&[(b"VP8L", vp8l(1024, 768))]), ImageFormat::Webp),
        (
            riff(&[
                (b"VP8X", vp8x(1024, 768)),
                (b"ICCP", vec![1]),
                (b"VP8 ", vp8(1024, 768)),
            ]),
            ImageFormat::Webp,
        ),
    ]
}

#[test]
fn each_format_is_known_by_its_bytes_and_measured_by_its_header() {
    for (bytes, format) in all() {
        let image = Image::read(bytes.clone()).unwrap();
        assert_eq!(
            (image.format(), image.width(), image.height()),
            (format, 1024, 768)
        );
        assert_eq!(image.into_bytes(), bytes);
    }
}

#[test]
fn a_truncated_image_is_refused() {
    for (bytes, format) in all() {
        for length in 0..bytes.len() {
            let cut = bytes[..length].to_vec();
            let named = matches!(
                Image::read(cut).unwrap_err(),
                ImageError::UnknownFormat
                    | ImageError::CutOff { .. }
                    | ImageError::Malformed { .. }
            );
            assert!(named, "{format}: {length} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn no_data_hides_behind_the_end() {
    for (bytes, format) in all() {
        let page = [bytes, b"<script>alert(1)</script>".to_vec()].concat();
        assert_eq!(
            Image::read(page),
            Err(ImageError::Trailing {
                format,
                observed: 25
            })
        );
    }
}

#[test]
fn bytes_of_other_formats_are_refused() {
    let svg: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";
    for other in [
        svg,
        b"GIF89a",
        b"<!doctype html>",
        b"BM",
        b"",
        b"RIFF....AVI ",
    ] {
        assert_eq!(Image::read(other.to_vec()), Err(ImageError::UnknownFormat));
    }
}

#[test]
fn sides_outside_the_limits_are_refused() {
    for (width, height) in [(1, 1), (1024, 63), (8193, 1024), (0, 0), (u32::MAX, 1024)] {
        assert_eq!(
            Image::read(png(width, height)),
            Err(ImageError::Size { width, height })
        );
    }
    Image::read(png(MIN_SIDE, MAX_SIDE)).unwrap();
}

#[test]
fn structures_that_readers_disagree_about_are_refused() {
    let malformed = |bytes: Vec<u8>, what: &str| {
        let error = Image::read(bytes).unwrap_err();
        assert!(error.to_string().ends_with(what), "{error}");
    };
    malformed(
        riff(&[(b"VP8X", vp8x(64, 64)), (b"VP8 ", vp8(1024, 768))]),
        "two different sizes",
    );
    malformed(
        riff(&[(b"VP8X", vp8x(64, 64)), (b"ANIM", vec![])]),
        "animated",
    );
    malformed(riff(&[(b"EXIF", vec![])]), "no pixels");
    let mut flipped = png(1024, 768);
    flipped[19] ^= 1;
    malformed(flipped, "chunk checksum");
    let two_frames = {
        let mut file = jpeg(1024, 768);
        let frame = file[8..21].to_vec();
        file.splice(8..8, frame);
        file
    };
    malformed(two_frames, "two frames");
}

proptest! {
    #[test]
    fn foreign_bytes_do_not_panic(start in 0usize..5, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let (head, _) = &all()[start];
        let mut bytes = head[..12].to_vec();
        bytes.extend(noise);
        let _ = Image::read(bytes);
    }

    #[test]
    fn a_changed_image_is_itself_or_refused(which in 0usize..5, place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let (mut bytes, _) = all().swap_remove(which);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        if let Ok(image) = Image::read(bytes.clone()) {
            prop_assert!((MIN_SIDE..=MAX_SIDE).contains(&image.width()));
            prop_assert!((MIN_SIDE..=MAX_SIDE).contains(&image.height()));
            prop_assert_eq!(image.into_bytes(), bytes);
        }
    }
}
