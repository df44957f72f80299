//! Spheres and half-spaces that nearly touch.

use broadsweep::filter::HalfSpace;

/// Generates a finite number: of any exponent, of few bits, about one, a denormal.
pub fn number(bits: &mut impl FnMut() -> u64) -> f32 {
    let any = bits() as u32;
    match bits() % 5 {
        0 => f32::from_bits(any & 0xfeff_ffff | 0x1000_0000 & any),
        1 => (any % 33) as f32 - 16.0,
        2 => f32::from_bits(any & 0x80ff_ffff | 0x3f00_0000),
        3 => f32::from_bits(any & 0x807f_ffff),
        _ => 0.0,
    }
}

/// Generates two spheres, which mostly nearly touch, and a half-space, which mostly nearly touches the first.
pub fn touching(bits: &mut impl FnMut() -> u64) -> ([f32; 4], [f32; 4], HalfSpace) {
    let finite = |x: f32| if x.is_finite() { x } else { f32::MAX };
    let near = |value: f32, bits: &mut dyn FnMut() -> u64| {
        let steps = bits() % 3;
        (0..steps).fold(finite(value.abs()), |x, _| {
            if bits().is_multiple_of(2) { finite(x.next_up()) } else { x.next_down().max(0.0) }
        })
    };
    let mut a = [(); 4].map(|()| number(bits));
    let mut b = [(); 4].map(|()| number(bits));
    // Whole numbers of which the distance is one too.
    if bits().is_multiple_of(4) {
        let [x, y, z] = [[3.0, 4.0, 0.0], [2.0, 3.0, 6.0], [1.0, 2.0, 2.0], [0.0, 5.0, 12.0]][(bits() % 4) as usize];
        b = [a[0] + x, a[1] + y, a[2] + z, b[3]];
        b[..3].iter_mut().for_each(|c| *c = finite(*c));
    }
    let distance = (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum::<f64>().sqrt();
    let part = (bits() % 5) as f64 / 4.0;
    a[3] = near((distance * part) as f32, bits);
    b[3] = near((distance - f64::from(a[3])) as f32, bits);
    let mut normal = [(); 3].map(|()| number(bits));
    if bits().is_multiple_of(2) {
        normal = [[0.0, 0.0, 1.0], [3.0, 4.0, 0.0], [-2.0, 3.0, 6.0], [0.0, -8.0, 15.0]][(bits() % 4) as usize];
    }
    let length = normal.map(f64::from).map(|n| n * n).iter().sum::<f64>().sqrt();
    let height = (0..3).map(|k| f64::from(normal[k]) * f64::from(a[k])).sum::<f64>();
    let offset = height - length * f64::from(a[3]);
    let offset = near(offset as f32, bits).copysign(offset as f32);
    let normal = if length == 0.0 { [1.0, 0.0, 0.0] } else { normal };
    (a, b, HalfSpace { index: 1, normal, offset })
}
