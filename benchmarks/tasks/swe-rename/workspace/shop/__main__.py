from shop.cart import Cart
from shop.report import figure

cart = Cart()
cart.lines = [(2, 10.0), (4, 5.0)]
print("cart", cart.total())
print("report", figure("total", cart.lines, discount=0.1), cart.full())
